// Activation functions in float64, and error bounds of the f32 ones.
#pragma once

#include <algorithm>
#include <cmath>

#include <support/arrays.hpp>

#include <precast/problem/activate.hpp>

namespace precast::testing {

inline constexpr ActivationFunction every_activation[] = {
    ActivationFunction::none,       ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf,
    ActivationFunction::quick_gelu, ActivationFunction::silu,      ActivationFunction::relu};

inline double activated(ActivationFunction activate, double x) {
  switch (activate) {
    case ActivationFunction::none:
      return x;
    case ActivationFunction::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case ActivationFunction::gelu_erf:
      return x / 2 * std::erfc(-x * std::sqrt(0.5));
    case ActivationFunction::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case ActivationFunction::silu:
      return x / (1 + std::exp(-x));
    case ActivationFunction::relu:
      return x < 0 ? 0 : x;
  }
  return x;
}

/// The error of an f32 activation function of an exact x: a few ulp, and the rounding of the inner
/// function's argument times its condition number, which is at most |x|^2 + |x| where the result is not 0.
inline double activation_error(double x, double result) {
  return unit<f32> * std::abs(result) * (8 + 4 * std::min(x * x + std::abs(x), 200.0)) + 1e-36;
}

}  // namespace precast::testing
