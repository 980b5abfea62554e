// Derivatives of the functions of problem/elementwise.hpp, in f32: the one definition for both backends.
// Their `in<Inside>` rounds each intermediate to Inside.
#pragma once

#include <cmath>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/math.hpp>

namespace precast::elementwise {

namespace detail {

/// The derivative of x sigmoid(z): s + x z' s (1 - s).
template <class Inside>
PRECAST_HOST_DEVICE f32 slope_of_sigmoid_product(f32 x, f32 z, f32 slope_of_z) {
  const auto kept = [](f32 value) { return rounded_to<Inside>(value); };
  const f32 s = kept(math::sigmoid(kept(z)));
  // 1 - sigmoid(z) without cancellation.
  const f32 rest = kept(math::sigmoid(-kept(z)));
  const f32 steep = kept(s * rest);
  // For large |x|, x z' may overflow Inside, and inf times this 0 is NaN; only x itself may give NaN.
  return select(steep == 0, s + 0.0f * x, kept(s + kept(kept(x * kept(slope_of_z)) * steep)));
}

}  // namespace detail

/// f'(x) of each activation f. A program specialises it for a function of its own.
template <class Activation>
struct Slope {
  static_assert(
      std::is_void_v<Activation>,
      "Precast: the gradient of this function is unknown: specialise "
      "precast::elementwise::Slope<F> with its derivative, template <class Inside> static f32 of(f32 "
      "x), as problem/elementwise_gradient.hpp does for its own.");
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32) {
    return 0.0f;
  }
};

template <>
struct Slope<Identity> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32) {
    return 1.0f;
  }
};

template <>
struct Slope<GeluTanh> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32 x) {
    const f32 square = rounded_to<Inside>(x * x);
    // z = 1.59576912 (x + 0.044715 x^3), and its derivative.
    const f32 z = 1.59576912f * std::fma(square, 0.044715f * x, x);
    return detail::slope_of_sigmoid_product<Inside>(x, z, std::fma(square, 0.214064449f, 1.59576912f));
  }
};

template <>
struct Slope<GeluErf> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32 x) {
    const auto kept = [](f32 value) { return rounded_to<Inside>(value); };
    const f32 tail = kept(0.5f * math::erfc_of_positive(kept(std::fabs(x) * 0.707106781f)));
    const f32 below = select(x < 0, tail, kept(1.0f - tail));
    // `lost` is the rounding error of the square, to which e^(-x^2 / 2) is sensitive for large x.
    const f32 square = x * x, lost = std::fma(x, x, -square);
    const f32 gauss = math::exp(-0.5f * square);
    const f32 density = kept(0.398942280f * std::fma(gauss, -0.5f * lost, gauss));
    return kept(below + kept(select(square < 400.0f, x * density, 0.0f * x)));
  }
};

template <>
struct Slope<QuickGelu> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32 x) {
    return detail::slope_of_sigmoid_product<Inside>(x, 1.702f * x, 1.702f);
  }
};

template <>
struct Slope<Silu> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32 x) {
    return detail::slope_of_sigmoid_product<Inside>(x, x, 1.0f);
  }
};

template <>
struct Slope<Relu> {
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of(f32 x) {
    return select(x <= 0, 0.0f, 1.0f);
  }
};

/// dy f'(x).
template <class Activation>
struct ActivationGradient {
  PRECAST_HOST_DEVICE f32 operator()(f32 dy, f32 x) const {
    return dy * Slope<Activation>::template of<f32>(x);
  }
  template <class Inside>
  PRECAST_HOST_DEVICE f32 in(f32 dy, f32 x) const {
    return dy * Slope<Activation>::template of<Inside>(x);
  }
};

/// Both gradients of activation(a) b.
template <class Activation>
struct GatedProductGradient {
  /// dy b f'(a).
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of_a(f32 dy, f32 a, f32 b) {
    return rounded_to<Inside>(dy * b) * Slope<Activation>::template of<Inside>(a);
  }
  /// dy f(a).
  template <class Inside>
  static PRECAST_HOST_DEVICE f32 of_b(f32 dy, f32 a) {
    if constexpr (std::is_same_v<Inside, f32>)
      return dy * Activation{}(a);
    else
      return dy * rounded_to<Inside>(Stepwise<Inside, Activation>{}(a));
  }
};

}  // namespace precast::elementwise
