// Measurements that go on: what a cost file that is there says of what it was measured from, and whether that
// is what is measured now.
#pragma once

#include <optional>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <families/blocks.hpp>

namespace precast::cli {

/// The same settings, with what a run of the uncast model depends on.
casting::CostConditions with_inputs(casting::CostConditions cast, const casting::Samples& samples,
                                    const std::string& policy);

/// The cost file that is there under the name of the output, or a new one with the settings of what is going
/// to be measured. Estimates depend on no samples and no policy. Throws InputError where it is of another
/// measurement.
casting::CostFile results_so_far(const CostOptions& options, const std::string& model,
                                 const casting::Samples& samples,
                                 const std::optional<std::string>& estimates);

/// Says in the settings which weights are measured. Throws InputError where the numbers so far are of others.
void add_weights(const CostOptions& options, const families::Blocks& blocks, const std::string& model,
                 casting::CostFile& so_far);

}  // namespace precast::cli
