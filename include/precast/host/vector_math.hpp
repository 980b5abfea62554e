// exp, tanh, erf, sigmoid and the activation functions in f32, without branches: loops over them vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>

// Polynomials are minimax fits made for this file (Remez exchange in 200 bits). Every function is within 3
// ulp of the real one over all of f32, subnormal results included, unless it says otherwise; NaN gives NaN.
// Always inlined: a call that the compiler keeps in a large file costs its loop the vectors, 20 times the
// time.
namespace precast::host {

namespace detail {

/// 2^exponent for exponents of normal numbers.
[[gnu::always_inline]] inline f32 two_to(std::int32_t exponent) {
  return std::bit_cast<f32>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// x = exponent ln 2 + r with |r| <= ln 2 / 2, and e^r - 1.
struct ReducedExp {
  f32 expm1;
  std::int32_t exponent;
};

/// For |x| < 2^21. `x` may be NaN: then expm1 is.
[[gnu::always_inline]] inline ReducedExp reduce_exp(f32 x) {
  constexpr f32 to_integer = 12582912.0f;  // 1.5 * 2^23: its low bits count ones
  const f32 shifted = std::fma(x, 1.44269504f, to_integer);
  const std::int32_t exponent =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(to_integer);
  const f32 count = shifted - to_integer;
  const f32 r = std::fma(count, -1.42860677e-6f, std::fma(count, -0.693145752f, x));
  f32 p = std::fma(r, 0.0013942161f, 0.008363776f);
  p = std::fma(p, r, 0.041666362f);
  p = std::fma(p, r, 0.16666573f);
  p = std::fma(p, r, 0.5f);
  return {std::fma(r * r, p, r), exponent};
}

/// e^x - 1 for x in [-20, 0].
[[gnu::always_inline]] inline f32 expm1_of_negative(f32 x) {
  const ReducedExp reduced = reduce_exp(x);
  const f32 scale = two_to(reduced.exponent);
  return std::fma(reduced.expm1, scale, scale - 1.0f);
}

}  // namespace detail

/// e^x.
[[gnu::always_inline]] inline f32 exp(f32 x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const detail::ReducedExp reduced = detail::reduce_exp(x);
  // In two steps, since 2^128 and 2^-149 are not normal numbers.
  const std::int32_t half = reduced.exponent >> 1;
  return (1.0f + reduced.expm1) * detail::two_to(half) * detail::two_to(reduced.exponent - half);
}

/// e^x for x <= 0, as softmax needs it: what would be under 1e-37 is 0.
[[gnu::always_inline]] inline f32 exp_of_negative(f32 x) {
  const f32 in_range = x < -86.0f ? -86.0f : x;
  const detail::ReducedExp reduced = detail::reduce_exp(in_range);
  const f32 scale = detail::two_to(reduced.exponent);
  const f32 value = std::fma(reduced.expm1, scale, scale);
  return x < -86.0f ? 0.0f : value;
}

/// 1 / (1 + e^-x).
[[gnu::always_inline]] inline f32 sigmoid(f32 x) {
  const f32 small = exp(-std::fabs(x));
  const f32 top = x < 0 ? small : 1.0f;
  return top / (1.0f + small);
}

[[gnu::always_inline]] inline f32 tanh(f32 x) {
  f32 magnitude = std::fabs(x);
  magnitude = magnitude > 10.0f ? 10.0f : magnitude;
  const f32 e = detail::expm1_of_negative(-2.0f * magnitude);
  return std::copysign(e / (e + 2.0f), x);
}

namespace detail {

/// erf(x) for x in [0, 1].
[[gnu::always_inline]] inline f32 erf_near_zero(f32 x) {
  const f32 square = x * x;
  f32 p = std::fma(square, 8.5130945e-05f, -0.0008175637f);
  p = std::fma(p, square, 0.005203859f);
  p = std::fma(p, square, -0.026860509f);
  p = std::fma(p, square, 0.11283715f);
  p = std::fma(p, square, -0.37612635f);
  return std::fma(p * square, x, 1.12837917f * x);
}

/// erfc(x) for x in [0.4, 11].
[[gnu::always_inline]] inline f32 erfc_far(f32 x) {
  // (1 + 2x) e^(x^2) erfc(x) is nearly constant, and smooth in t.
  const f32 t = (x - 3.0f) / (x + 3.0f);
  f32 p = std::fma(t, -0.00025975078f, -0.0007563049f);
  p = std::fma(p, t, 0.002014064f);
  p = std::fma(p, t, 0.0025591392f);
  p = std::fma(p, t, -0.023806287f);
  p = std::fma(p, t, 0.068296045f);
  p = std::fma(p, t, -0.11926931f);
  p = std::fma(p, t, 0.12964654f);
  p = std::fma(p, t, -0.0475625f);
  p = std::fma(p, t, -0.13562115f);
  p = std::fma(p, t, 1.253008f);
  const f32 square = x * x;
  const f32 lost = std::fma(x, x, -square);
  const f32 gauss = exp(-square);
  return p / std::fma(2.0f, x, 1.0f) * std::fma(gauss, -lost, gauss);
}

}  // namespace detail

/// erfc(x) for x >= 0; within 5 ulp.
[[gnu::always_inline]] inline f32 erfc_of_positive(f32 x) {
  x = x > 11.0f ? 11.0f : x;
  const f32 near = 1.0f - detail::erf_near_zero(x), far = detail::erfc_far(x);
  return x < 0.5f ? near : far;
}

[[gnu::always_inline]] inline f32 erf(f32 x) {
  f32 magnitude = std::fabs(x);
  magnitude = magnitude > 11.0f ? 11.0f : magnitude;
  const f32 near = detail::erf_near_zero(magnitude), far = 1.0f - detail::erfc_far(magnitude);
  return std::copysign(magnitude < 0.9f ? near : far, x);
}

/// x/2 (1 + tanh(z)) with z = sqrt(2/pi) (x + 0.044715 x^3), which is x sigmoid(2z): no difference of near
/// equals.
[[gnu::always_inline]] inline f32 gelu_tanh(f32 x) {
  const f32 twice = 1.59576912f * std::fma(x * x, 0.044715f * x, x);
  return x * sigmoid(twice);
}

/// x/2 (1 + erf(x / sqrt 2)) = x/2 erfc(-x / sqrt 2).
[[gnu::always_inline]] inline f32 gelu_erf(f32 x) {
  const f32 tail = erfc_of_positive(std::fabs(x) * 0.707106781f);
  return 0.5f * x * (x < 0 ? tail : 2.0f - tail);
}

[[gnu::always_inline]] inline f32 silu(f32 x) { return x * sigmoid(x); }
[[gnu::always_inline]] inline f32 quick_gelu(f32 x) { return x * sigmoid(1.702f * x); }
[[gnu::always_inline]] inline f32 relu(f32 x) { return x < 0 ? 0.0f : x; }

/// Applies an activation function to values in place. No template, so that a file holds its loops once.
inline void activate_row(Activate activation, std::span<f32> values) {
  const auto apply = [values](auto function) {
    for (f32& value : values) value = function(value);
  };
  switch (activation) {
    case Activate::none:
      return;
    case Activate::gelu_tanh:
      return apply([](f32 x) { return gelu_tanh(x); });
    case Activate::gelu_erf:
      return apply([](f32 x) { return gelu_erf(x); });
    case Activate::quick_gelu:
      return apply([](f32 x) { return quick_gelu(x); });
    case Activate::silu:
      return apply([](f32 x) { return silu(x); });
    case Activate::relu:
      return apply([](f32 x) { return relu(x); });
  }
}

}  // namespace precast::host
