// The results of `precast generate`: pictures with their settings embedded, and JSON on the run.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <cli/generate/generate_options.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/terminal/output.hpp>
#include <families/device.hpp>
#include <families/pipeline.hpp>

namespace precast::cli {

/// What all pictures of a run have in common.
struct GenerateJob {
  const GenerateOptions& options;
  const families::Pipeline& pipeline;
  const families::ChosenDevice& device;
  std::string model;                                       ///< as recorded in pictures
  std::vector<std::pair<std::string, std::string>> given;  ///< label and name of each file given beside it
  std::vector<std::filesystem::path> files;                ///< the picture files, in order
};

/// The settings that were used, whether given or the model's own, by their keys in --json; null is none.
Json settings_json(const StartOptions& start, const families::Pipeline& pipeline,
                   const families::ResolvedRequest& used);

/// Writes the most recent picture, and reports it on stderr.
void write_picture(const GenerateJob& job, const families::Result& so_far);

/// The run as --json prints it.
Json generate_json(const GenerateJob& job, const PictureRun& run, const std::vector<std::string>& warnings);

}  // namespace precast::cli
