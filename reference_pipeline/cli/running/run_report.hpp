// Reports of a run besides its pictures: options without effect, cut prompts, time and memory.
#pragma once

#include <string>
#include <vector>

#include <cli/running/picture_run.hpp>
#include <families/pipeline.hpp>

namespace precast::cli {

/// Throws UsageError if the request has a sampler, mask or refiner that the model cannot use.
void require_used(const families::Pipeline& pipeline, const families::Request& request);

/// One line for each option without (full) effect: prompts longer than an encoder reads, guidance for a
/// model without, a negative prompt without a CFG scale.
std::vector<std::string> run_warnings(const families::Pipeline& pipeline, const families::Request& request);

/// Prints them on stderr, one a line.
void print_warnings(const std::vector<std::string>& warnings);

/// "3.2 s in all, 0.41 s a step, peak memory 136.2 MiB": memory of the process, or of the device if models
/// ran on one.
std::string run_summary(const PictureRun& run, bool on_device);

}  // namespace precast::cli
