// A denoiser's weights that are changed on the way from their file.
#pragma once

#include <functional>

#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// Calls `load` once, with weights made from those of a file. May throw before and after the call.
using WeightsChange = std::function<void(const nn::ParameterSource& weights,
                                         const std::function<void(const nn::ParameterSource&)>& load)>;

/// The result of `load` with the changed weights.
template <class Load>
auto load_changed(const WeightsChange& change, const nn::ParameterSource& weights, const Load& load) {
  decltype(load(weights)) loaded;
  change(weights, [&](const nn::ParameterSource& changed) { loaded = load(changed); });
  return loaded;
}

}  // namespace precast::families
