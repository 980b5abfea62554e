// What AdamW does to one value, written once for both backends: the formula, the order of operations and the
// roundings of torch.optim.AdamW.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/problem/math.hpp>

namespace precast {

/// The options of torch.optim.AdamW, with its names and defaults.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;

  /// Throws InputError where an option is out of the range that PyTorch allows.
  void check() const {
    const auto require = [](bool holds, const std::string& rule) {
      if (!holds) throw InputError("AdamW: " + rule);
    };
    require(lr >= 0 && std::isfinite(lr), "the learning rate must be 0 or more");
    require(beta1 >= 0 && beta1 < 1, "the first beta must be from 0 to below 1");
    require(beta2 >= 0 && beta2 < 1, "the second beta must be from 0 to below 1");
    require(eps >= 0 && std::isfinite(eps), "eps must be 0 or more");
    require(weight_decay >= 0 && std::isfinite(weight_decay), "the weight decay must be 0 or more");
  }
};

/// A parameter's value and the moving means of its gradients and of their squares. The means are rounded to
/// the optimiser's dtype, the parameter is not yet. Number may be a register of several values.
template <class Number = f32>
struct AdamWValues {
  Number parameter, mean, square;
};

/// The operations of AdamWStep on single values that are more than an arithmetic operator.
template <ScalarDtype T>
struct AdamWOnOne {
  static PRECAST_HOST_DEVICE f32 rounded(f32 x) { return rounded_to<T>(x); }
  static PRECAST_HOST_DEVICE f32 product(f32 a, f32 b) { return math::rounded_product(a, b); }
  static PRECAST_HOST_DEVICE f32 root(f32 x) { return std::sqrt(x); }
};

/// One value's step, in f32: each of PyTorch's operations rounds once to T (which changes nothing where T
/// is f32), and no product is contracted with a sum. The mean of gradients is PyTorch's lerp, which has
/// two forms. As in PyTorch, eps is rounded to T, because it is added, and the other constants are f32
/// factors.
template <ScalarDtype T>
struct AdamWStep {
  f32 decay, weight1, beta2, rest2, root_of_correction2, eps, step_size;
  bool decays;  ///< whether the weight decay is not 0

  /// The constants of step `step`, counted from 1. Throws InputError for a step or an option out of range.
  AdamWStep(const AdamWOptions& options, std::int64_t step)
      : decay(static_cast<f32>(1 - options.lr * options.weight_decay)),
        weight1(static_cast<f32>(1 - options.beta1)),
        beta2(static_cast<f32>(options.beta2)),
        rest2(static_cast<f32>(1 - options.beta2)),
        root_of_correction2(
            static_cast<f32>(std::sqrt(1 - std::pow(options.beta2, static_cast<double>(step))))),
        eps(rounded_to<T>(static_cast<f32>(options.eps))),
        step_size(static_cast<f32>(-(options.lr / (1 - std::pow(options.beta1, static_cast<double>(step)))))),
        decays(options.weight_decay != 0) {
    options.check();
    if (step < 1) throw InputError("AdamW: steps are counted from 1, not from " + std::to_string(step));
  }

  template <class On = AdamWOnOne<T>, class Number = f32>
  PRECAST_HOST_DEVICE AdamWValues<Number> operator()(const AdamWValues<Number>& at, const Number& gradient,
                                                     bool parameter_decays) const {
    Number value = at.parameter;
    if (parameter_decays) value = On::rounded(On::product(value, decay));
    const Number change = gradient - at.mean;
    const Number average =
        On::rounded(weight1 < 0.5f ? Number(at.mean + On::product(change, weight1))
                                   : Number(gradient - On::product(change, 1.0f - weight1)));
    const Number second =
        On::rounded(On::rounded(On::product(at.square, beta2)) + On::product(rest2 * gradient, gradient));
    const Number denominator =
        On::rounded(On::rounded(On::rounded(On::root(second)) / root_of_correction2) + eps);
    return {value + step_size * average / denominator, average, second};
  }
};

}  // namespace precast
