// Samples text from a model in training.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <language_model/trained_model.hpp>

namespace precast::language_model {

/// `count` tokens that continue `start`, drawn from the model's distribution at a temperature; below 1e-6
/// greedily. The same seed gives the same tokens. The model sees at most the last `context` tokens. Ends
/// early if logits are not finite, and if `should_continue`, called before each token with the number drawn
/// so far, returns false.
std::vector<std::int32_t> sample_tokens(TrainedModel& model, std::vector<std::int32_t> start,
                                        std::int64_t count, std::int64_t context, double temperature,
                                        std::uint64_t seed,
                                        const std::function<bool(std::int64_t)>& should_continue = {});

}  // namespace precast::language_model
