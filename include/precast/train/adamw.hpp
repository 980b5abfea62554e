// AdamW (Loshchilov and Hutter 2019) with the formula, the order of operations and the roundings of
// torch.optim.AdamW.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/optimiser/optimiser_values.hpp>
#include <precast/problem/adamw_step.hpp>

namespace precast::train {

using precast::AdamWOptions;

/// Throws InputError where an option is out of the range that PyTorch allows.
inline void check(const AdamWOptions& options) {
  const auto require = [](bool holds, const std::string& rule) {
    if (!holds) throw InputError("AdamW: " + rule);
  };
  require(options.lr >= 0 && std::isfinite(options.lr), "the learning rate must be 0 or more");
  require(options.beta1 >= 0 && options.beta1 < 1, "the first beta must be from 0 to below 1");
  require(options.beta2 >= 0 && options.beta2 < 1, "the second beta must be from 0 to below 1");
  require(options.eps >= 0 && std::isfinite(options.eps), "eps must be 0 or more");
  require(options.weight_decay >= 0 && std::isfinite(options.weight_decay),
          "the weight decay must be 0 or more");
}

/// Step number `step`, counted from 1, of AdamW on one parameter: its values, its gradients, and the moving
/// means of gradients and of their squares, which begin as zeros. All in T: f32 for master weights, or f16 as
/// a model that is f16 throughout has them. `decays` says whether the weight decay applies to it; options are
/// those that `check` lets pass. Throws ShapeError where the sizes differ, and InputError for another step.
template <ScalarDtype T>
void adamw_step(std::span<T> parameter, std::span<const T> gradient, std::span<T> mean, std::span<T> square,
                const AdamWOptions& options, std::int64_t step, bool decays) {
  if (gradient.size() != parameter.size() || mean.size() != parameter.size() ||
      square.size() != parameter.size())
    throw ShapeError("AdamW: a parameter of " + std::to_string(parameter.size()) +
                     " values has gradients or moments of another size");
  if (step < 1) throw InputError("AdamW: steps are counted from 1, and " + std::to_string(step) + " is none");
  const AdamWStep<T> one(options, step);
  host::adamw_values<T>(parameter, gradient, mean, square, one, decays && one.decays);
}

}  // namespace precast::train
