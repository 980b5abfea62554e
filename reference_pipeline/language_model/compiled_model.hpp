// Language models that kernels/ compiles, for each policy that they are trained under.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <families/op_rows.hpp>
#include <language_model/trained_model.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/training_policies.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// A model of these values. Throws what its sizes do.
template <PolicyType P>
std::unique_ptr<TrainedModel> make_trained_model(const LanguageModelConfig& config, const ValuesOf& values);

/// The entry of a policy in training_policies().
template <Literal Name>
TrainingPolicy compiled_training_policy() {
  using P = training_policy_named<Name>;
  return {std::string(Name.view()), families::spelling_of<P>(), scales_loss<P>,
          dtype_info<typename training<P>::parameter_gradient>, &make_trained_model<P>};
}
/// Those of this backend, a list that CMake writes.
const std::vector<TrainingPolicy>& compiled_training_policies();

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
