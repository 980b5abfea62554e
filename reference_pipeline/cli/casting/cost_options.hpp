// Options of precast cost, and the parsers of their values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <casting/cost_measure.hpp>
#include <casting/measure.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <families/presets.hpp>

#include <precast/policy/quant_formats.hpp>

namespace precast::cli {

/// Parses "q8_0,Q4_K" as format names, each once. Throws UsageError, with the nearest name if there is one.
std::vector<std::string> parse_types(const std::string& text);

/// The formats measured by default, separated by commas: block formats only if the build `holds`
/// them.
std::string usual_types(bool (*holds)(std::string_view block_format));

/// Parses "0-18,20" as indices below `count`, each once, ascending. Throws UsageError.
std::vector<std::int64_t> parse_layers(const std::string& text, std::int64_t count);

/// The names of casting::Granularity's values, by value.
inline constexpr std::array<std::string_view, 2> granularities{"layer", "matrix"};

struct CostOptions {
  std::optional<std::string> model;
  ComponentFiles component_files;
  std::string device = "auto", policy = usual_policy(families::compiled_presets()), samples,
              output = "cost.json";
  std::string types = usual_types(&block_format_compiled);
  std::optional<std::string> layers, patch, importance;
  SweepPart part;
  casting::Granularity granularity = casting::Granularity::layer;
  std::optional<int> threads, jobs;
  CLI::Option* merge = nullptr;
  CLI::Option* output_option = nullptr;
  CLI::Option* measure_option = nullptr;
  casting::Measure measure = casting::Measure::cost;
  bool biases = false, weighted = false, markdown = false, csv = false, json = false;
  bool only_estimates = false;
};

/// Adds the options, with examples below them in the help.
void add_cost_options(CLI::App& command, CostOptions& options);

}  // namespace precast::cli
