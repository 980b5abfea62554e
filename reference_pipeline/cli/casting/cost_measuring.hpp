// What `precast cost` is asked for, and the measuring of it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/measure.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <families/presets.hpp>

#include <precast/policy/quant_formats.hpp>

namespace precast::cli {

/// The words for casting::Granularity, by value.
inline constexpr std::array<std::string_view, 2> granularities{"layer", "matrix"};

/// The options of the command.
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

/// The layers that a cost file says it is missing: "transformer_blocks.1, transformer_blocks.2, … and 5
/// more".
std::string missing_text(const casting::CostFile& file);
/// Warns that a plan or a report is without them, where there are any.
void warn_of_missing(const std::filesystem::path& path, const casting::CostFile& file,
                     const std::string& result);

/// Measures what is asked for, from what --output has already on, and writes it there after each layer.
/// Throws UsageError for options that do not go together, and what measuring does.
casting::CostFile measured_costs(const CostOptions& options);

}  // namespace precast::cli
