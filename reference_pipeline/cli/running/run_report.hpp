// What a run says besides its pictures: what had no effect, what was cut, what it took.
#pragma once

#include <string>
#include <vector>

#include <cli/running/picture_run.hpp>
#include <families/pipeline.hpp>

namespace precast::cli {

/// Throws UsageError where the request has a sampler, a mask or a refiner, and the model has no use for them.
void require_used(const families::Pipeline& pipeline, const families::Request& request);

/// One line for each thing that was asked for and does nothing, or not all: prompts longer than an encoder
/// reads, guidance for a model without, a negative prompt without a CFG scale.
std::vector<std::string> run_warnings(const families::Pipeline& pipeline, const families::Request& request);

/// Tells them on stderr, a line each.
void tell_warnings(const std::vector<std::string>& warnings);

/// "3.2 s in all, 0.41 s a step, peak memory 136.2 MiB": of the process, or of the device where models ran on
/// one.
std::string run_summary(const PictureRun& run, bool on_device);

}  // namespace precast::cli
