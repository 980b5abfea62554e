// The measuring that `precast cost` is asked for.
#pragma once

#include <filesystem>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_options.hpp>

#include <precast/error.hpp>

namespace precast::cli {

/// The layers that a cost file says it is missing: "transformer_blocks.1, transformer_blocks.2, … and 5
/// more".
std::string missing_text(const casting::CostFile& file);
/// Warns that a plan or a report is without them, where there are any.
void warn_of_missing(const std::filesystem::path& path, const casting::CostFile& file,
                     const std::string& result);

/// Samples whose states do not fit the blocks of a model, which is the problem: names their file, and the
/// model that they are of.
InputError of_another_model(const std::filesystem::path& path, const casting::Samples& samples,
                            const std::string& model, const ShapeError& problem);

/// Measures what is asked for, from what --output has already on, and writes it there after each layer.
/// Throws UsageError for options that do not go together, and what measuring does.
casting::CostFile measured_costs(const CostOptions& options);

}  // namespace precast::cli
