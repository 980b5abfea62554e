// The options of precast compare.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <image/picture_file.hpp>

namespace precast::cli {

struct CompareOptions {
  RunOptions run;
  StartOptions start;
  SweepPart part;
  CLI::Option* shard = nullptr;
  CLI::Option* policies = nullptr;
  CLI::Option* output_option = nullptr;
  CLI::Option* report_option = nullptr;
  CLI::Option* merge = nullptr;
  std::string output = "compare.png", report;
  CLI::Option* quality_option = nullptr;
  int quality = image::usual_quality;
  bool layers = false, markdown = false, json = false;

  bool is_part() const { return shard->count() > 0; }
  bool to_stdout() const { return is_standard_output(output); }
};

void add_compare_options(CLI::App& command, CompareOptions& options);

}  // namespace precast::cli
