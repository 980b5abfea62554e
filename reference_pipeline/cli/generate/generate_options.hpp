// Options of precast generate.
#pragma once

#include <optional>
#include <string>

#include <cli/options/policy_options.hpp>
#include <cli/options/preview_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <image/picture_file.hpp>

#include <precast/io/atomic_file.hpp>

namespace precast::cli {

struct GenerateOptions {
  RunOptions run;
  PolicyOptions policy;
  PreviewOptions preview;
  StartOptions start;
  std::string latents, save_latents, trace, plan;
  std::string output = "out.png";
  CLI::Option* quality_option = nullptr;
  int quality = image::usual_quality;
  bool no_overwrite = false, json = false;

  io::OldFile old_files() const { return no_overwrite ? io::OldFile::kept : io::OldFile::replaced; }
};

/// Adds the options, with examples below them in the help.
void add_generate_options(CLI::App& command, GenerateOptions& options);

}  // namespace precast::cli
