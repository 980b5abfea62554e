// The functions of pointwise ops on one value, in f32: the one definition for the loops of the host and the
// kernels of a device. A function of several steps has a member `in<Inside>`, which rounds each
// intermediate to Inside, as Downcast<Pointwise> requires.
#pragma once

#include <cmath>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/math.hpp>

namespace precast::elementwise {

struct Identity {
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return x; }
};

/// x/2 (1 + tanh(z)) with z = sqrt(2/pi) (x + 0.044715 x^3), computed as x sigmoid(2z), which has no
/// cancellation.
struct GeluTanh {
  /// 2z.
  static PRECAST_HOST_DEVICE f32 of_sigmoid(f32 x) { return 1.59576912f * std::fma(x * x, 0.044715f * x, x); }
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return x * math::sigmoid(of_sigmoid(x)); }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 x) const {
    const f32 square = rounded_to<Inside>(x * x), cube = rounded_to<Inside>(square * x);
    const f32 sum = rounded_to<Inside>(x + rounded_to<Inside>(0.044715f * cube));
    return x * rounded_to<Inside>(math::sigmoid(rounded_to<Inside>(1.59576912f * sum)));
  }
};

/// x/2 (1 + erf(x / sqrt 2)) = x/2 erfc(-x / sqrt 2).
struct GeluErf {
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const {
    const f32 tail = math::erfc_of_positive(std::fabs(x) * 0.707106781f);
    return 0.5f * x * select(x < 0, tail, 2.0f - tail);
  }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 x) const {
    const f32 tail = math::erfc_of_positive(rounded_to<Inside>(std::fabs(x) * 0.707106781f));
    return rounded_to<Inside>(0.5f * x) * rounded_to<Inside>(select(x < 0, tail, 2.0f - tail));
  }
};

struct QuickGelu {
  static PRECAST_HOST_DEVICE f32 of_sigmoid(f32 x) { return 1.702f * x; }
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return x * math::sigmoid(of_sigmoid(x)); }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 x) const {
    return x * rounded_to<Inside>(math::sigmoid(rounded_to<Inside>(1.702f * x)));
  }
};

struct Silu {
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return x * math::sigmoid(x); }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 x) const {
    return x * rounded_to<Inside>(math::sigmoid(x));
  }
};

struct Relu {
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return x < 0 ? 0.0f : x; }
};

struct Add {
  PRECAST_HOST_DEVICE f32 operator()(f32 a, f32 b) const { return a + b; }
};

/// A residual connection: residual + gate x.
struct GatedAdd {
  PRECAST_HOST_DEVICE f32 operator()(f32 residual, f32 x, f32 gate) const {
    return std::fma(gate, x, residual);
  }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 residual, f32 x, f32 gate) const {
    return residual + rounded_to<Inside>(gate * x);
  }
};

/// Functions of several steps, whose intermediates can be rounded to Inside.
template <class F, class Inside, class... Values>
concept HasSteps = requires(const F& function, Values... values) {
  function.template in<Inside>(values...);
};

/// A function with each intermediate rounded to Inside.
template <class Inside, class F>
struct Stepwise {
  F function;
  template <class... Values>
  PRECAST_HOST_DEVICE f32 operator()(Values... values) const {
    if constexpr (HasSteps<F, Inside, Values...>)
      return function.template in<Inside>(values...);
    else
      return function(values...);
  }
};

/// A function as a row of the op table computes it: itself where the row keeps intermediates in f32.
template <class Inside, class F>
auto in_steps(const F& function) {
  if constexpr (std::is_same_v<Inside, f32>)
    return function;
  else
    return Stepwise<Inside, F>{function};
}

/// activation(a) b.
template <class Activation>
struct GatedProduct {
  PRECAST_HOST_DEVICE f32 operator()(f32 a, f32 b) const { return Activation{}(a)*b; }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 a, f32 b) const {
    return rounded_to<Inside>(Stepwise<Inside, Activation>{}(a)) * b;
  }
};

/// x factor + offset.
struct ScaleShift {
  f32 factor, offset;
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const { return std::fma(x, factor, offset); }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 x) const {
    return rounded_to<Inside>(x * factor) + offset;
  }
};

/// Clamps to [low, high]; NaN stays.
struct Clamp {
  f32 low, high;
  PRECAST_HOST_DEVICE f32 operator()(f32 x) const {
    const f32 above = x < low ? low : x;
    return above > high ? high : above;
  }
};

/// Calls `function` with the functor of an activation function.
template <class F>
decltype(auto) visit_activation(ActivationFunction activation, F&& function) {
  switch (activation) {
    case ActivationFunction::gelu_tanh:
      return function(GeluTanh{});
    case ActivationFunction::gelu_erf:
      return function(GeluErf{});
    case ActivationFunction::quick_gelu:
      return function(QuickGelu{});
    case ActivationFunction::silu:
      return function(Silu{});
    case ActivationFunction::relu:
      return function(Relu{});
    case ActivationFunction::none:
      break;
  }
  return function(Identity{});
}

/// An activation of one value. Three of the functions are x sigmoid(z) and share its code, because kernels
/// of products finish value by value and inline this for each.
PRECAST_HOST_DEVICE f32 activated(ActivationFunction activation, f32 x) {
  f32 z = x;
  switch (activation) {
    case ActivationFunction::none:
      return x;
    case ActivationFunction::relu:
      return Relu{}(x);
    case ActivationFunction::gelu_erf:
      return GeluErf{}(x);
    case ActivationFunction::gelu_tanh:
      z = GeluTanh::of_sigmoid(x);
      break;
    case ActivationFunction::quick_gelu:
      z = QuickGelu::of_sigmoid(x);
      break;
    case ActivationFunction::silu:
      break;
  }
  return x * math::sigmoid(z);
}

}  // namespace precast::elementwise
