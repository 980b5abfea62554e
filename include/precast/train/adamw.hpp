// AdamW (Loshchilov and Hutter 2019) with the formula, the order of operations and the roundings of
// torch.optim.AdamW.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/train/for_each_chunk.hpp>

namespace precast::train {

/// The options of torch.optim.AdamW, with its names and defaults.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

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

namespace detail {

/// One value's step. Each of PyTorch's operations is one rounding to T, with f32 inside; where T is f32 that
/// is f32 arithmetic. The mean of gradients is PyTorch's lerp, which has two forms.
template <ScalarDtype T>
struct AdamWStep {
  f32 decay, weight1, beta2, rest2, root_of_correction2, eps, step_size;
  bool decays;

  AdamWStep(const AdamWOptions& options, std::int64_t step, bool decay_weights)
      : decay(static_cast<f32>(1 - options.lr * options.weight_decay)),
        weight1(static_cast<f32>(1 - options.beta1)),
        beta2(static_cast<f32>(options.beta2)),
        rest2(static_cast<f32>(1 - options.beta2)),
        root_of_correction2(
            static_cast<f32>(std::sqrt(1 - std::pow(options.beta2, static_cast<double>(step))))),
        eps(static_cast<f32>(options.eps)),
        step_size(static_cast<f32>(-(options.lr / (1 - std::pow(options.beta1, static_cast<double>(step)))))),
        decays(decay_weights && options.weight_decay != 0) {}

  static f32 rounded(f32 value) { return convert<f32>(convert<T>(value)); }

  void operator()(T& parameter, T gradient_value, T& mean, T& square) const {
    const f32 gradient = convert<f32>(gradient_value), before = convert<f32>(mean);
    f32 value = convert<f32>(parameter);
    if (decays) value = rounded(value * decay);
    const f32 average = rounded(weight1 < 0.5f ? before + weight1 * (gradient - before)
                                               : gradient - (gradient - before) * (1.0f - weight1));
    const f32 second = rounded(rounded(convert<f32>(square) * beta2) + rest2 * gradient * gradient);
    const f32 denominator = rounded(rounded(rounded(std::sqrt(second)) / root_of_correction2) + eps);
    parameter = convert<T>(value + step_size * average / denominator);
    mean = convert<T>(average);
    square = convert<T>(second);
  }
};

}  // namespace detail

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
  const detail::AdamWStep<T> one(options, step, decays);
  detail::for_each_chunk(parameter.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) one(parameter[i], gradient[i], mean[i], square[i]);
  });
}

}  // namespace precast::train
