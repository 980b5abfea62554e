// Language models that kernels/ compiles, a unit for each policy that they are trained under.
#pragma once

#include <memory>

#include <language_model/policies.hpp>
#include <language_model/trained_model.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// A model of these values, given in the order of parameters_of(). Throws what its sizes do.
template <PolicyType P>
std::unique_ptr<TrainedModel> make_trained_model(const LanguageModelConfig& config,
                                                 const ParameterValues& values);

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
