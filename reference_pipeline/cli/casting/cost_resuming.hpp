// Resumes a measurement: checks that the settings in an existing cost file are those of the measurement to
// be made.
#pragma once

#include <optional>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <families/blocks.hpp>

namespace precast::cli {

/// The same settings, with the samples and the policy, which a run of the uncast model depends on.
casting::CostConditions with_inputs(casting::CostConditions cast, const casting::Samples& samples,
                                    const std::string& policy);

/// The existing cost file of the output, or a new one with the settings of this measurement. Estimates
/// depend neither on samples nor on the policy. Throws InputError if the file is from another
/// measurement.
casting::CostFile results_so_far(const CostOptions& options, const std::string& model,
                                 const casting::Samples& samples,
                                 const std::optional<std::string>& estimates);

/// Adds the hash of the weights to the settings. Throws InputError if the costs are those of other weights.
void add_weights(const CostOptions& options, const families::Blocks& blocks, const std::string& model,
                 casting::CostFile& so_far);

}  // namespace precast::cli
