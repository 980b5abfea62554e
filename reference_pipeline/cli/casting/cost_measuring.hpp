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
#include <cli/options/model_path.hpp>
#include <cli/options/sweep_options.hpp>

namespace precast::cli {

/// The formats that are measured where nobody says which.
inline constexpr std::string_view usual_types = "q8_0,fp8_e4m3,q6_k,q5_1,q5_k,q4_1,q4_k,q4_0,q3_k,q2_k";
/// The words for casting::Granularity, by value.
inline constexpr std::array<std::string_view, 2> granularities{"layer", "matrix"};

/// The options of the command.
struct CostOptions {
  std::optional<std::string> model;
  ComponentFiles component_files;
  std::string device = "auto", policy = "balanced", samples, output = "cost.json";
  std::string types{usual_types};
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
