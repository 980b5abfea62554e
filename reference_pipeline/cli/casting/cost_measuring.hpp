// The measurement of `precast cost`.
#pragma once

#include <filesystem>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_options.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

/// The layers that are missing in a cost file: "transformer_blocks.1, transformer_blocks.2, … and 5
/// more".
std::string missing_text(const casting::CostFile& file);
/// Warns that `result`, a plan or a report, leaves out the missing layers, if there are any.
void warn_of_missing(const std::filesystem::path& path, const casting::CostFile& file,
                     const std::string& result);

/// The error for samples whose hidden states do not fit the blocks of the model (`problem`): names their
/// file and the model they were recorded from.
io::FileError of_another_model(const std::filesystem::path& path, const casting::Samples& samples,
                               const std::string& model, const ShapeError& problem);

/// Measures what the options ask for, resuming from the file of --output, and writes it after each layer.
/// Throws UsageError for options that contradict each other, and whatever measuring throws.
casting::CostFile measured_costs(const CostOptions& options);

}  // namespace precast::cli
