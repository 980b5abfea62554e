// Text that a model in training goes on with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <language_model/trained_model.hpp>

namespace precast::language_model {

/// `count` tokens after those of `start`, each drawn from what the model says of it at a temperature; below
/// 1e-6 the likeliest one. The same seed gives the same tokens. No more than `context` tokens are looked back
/// at. Ends early where the model's numbers are no longer finite, and where `goes_on`, which is called with
/// how many were drawn before each of them, says no.
std::vector<std::int32_t> sample_tokens(TrainedModel& model, std::vector<std::int32_t> start,
                                        std::int64_t count, std::int64_t context, double temperature,
                                        std::uint64_t seed,
                                        const std::function<bool(std::int64_t)>& goes_on = {});

}  // namespace precast::language_model
