// exp, sigmoid and erfc in f32, without branches: host compilers vectorise loops over them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

// Polynomials are minimax fits made for this file (Remez exchange in 200 bits). Every function is within 3
// ulp of the real one over all of f32, subnormal results included, unless it says otherwise; NaN gives NaN.
// A device uses its own functions, some of them in hardware, which are as accurate.
namespace precast::math {

namespace detail {

/// 2^exponent for exponents of normal numbers.
PRECAST_HOST_DEVICE f32 two_to(std::int32_t exponent) {
  return bit_cast<f32>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// x = exponent ln 2 + r with |r| <= ln 2 / 2, and e^r - 1.
struct ReducedExp {
  f32 expm1;
  std::int32_t exponent;
};

/// For |x| < 2^21. `x` may be NaN: then expm1 is.
PRECAST_HOST_DEVICE ReducedExp reduce_exp(f32 x) {
  constexpr f32 to_integer = 12582912.0f;  // 1.5 * 2^23, whose ulp is 1
  const f32 shifted = std::fma(x, 1.44269504f, to_integer);
  const std::int32_t exponent = bit_cast<std::int32_t>(shifted) - bit_cast<std::int32_t>(to_integer);
  const f32 count = shifted - to_integer;
  const f32 r = std::fma(count, -1.42860677e-6f, std::fma(count, -0.693145752f, x));
  f32 p = std::fma(r, 0.0013942161f, 0.008363776f);
  p = std::fma(p, r, 0.041666362f);
  p = std::fma(p, r, 0.16666573f);
  p = std::fma(p, r, 0.5f);
  return {std::fma(r * r, p, r), exponent};
}

}  // namespace detail

/// e^x.
PRECAST_HOST_DEVICE f32 exp(f32 x) {
#if defined(__CUDA_ARCH__)
  return expf(x);
#else
  x = select(x < -104.0f, -104.0f, x);
  x = select(x > 89.0f, 89.0f, x);
  const detail::ReducedExp reduced = detail::reduce_exp(x);
  // In two steps, since 2^128 and 2^-149 are not normal numbers.
  const std::int32_t half = reduced.exponent >> 1;
  return (1.0f + reduced.expm1) * detail::two_to(half) * detail::two_to(reduced.exponent - half);
#endif
}

/// e^x for x <= 0, as softmax needs it: results under 1e-37 are 0.
PRECAST_HOST_DEVICE f32 exp_of_negative(f32 x) {
#if defined(__CUDA_ARCH__)
  return expf(x);
#else
  const f32 in_range = select(x < -86.0f, -86.0f, x);
  const detail::ReducedExp reduced = detail::reduce_exp(in_range);
  const f32 scale = detail::two_to(reduced.exponent);
  const f32 value = std::fma(reduced.expm1, scale, scale);
  return select(x < -86.0f, 0.0f, value);
#endif
}

/// 1 / (1 + e^-x).
PRECAST_HOST_DEVICE f32 sigmoid(f32 x) {
  const f32 small = exp(-std::fabs(x));
  const f32 top = x < 0 ? small : 1.0f;
#if defined(__CUDA_ARCH__)
  return __fdividef(top, 1.0f + small);  // within 2 ulp for divisors between 1 and 2
#else
  return top / (1.0f + small);
#endif
}

namespace detail {

/// erf(x) for x in [0, 1].
PRECAST_HOST_DEVICE f32 erf_near_zero(f32 x) {
  const f32 square = x * x;
  f32 p = std::fma(square, 8.5130945e-05f, -0.0008175637f);
  p = std::fma(p, square, 0.005203859f);
  p = std::fma(p, square, -0.026860509f);
  p = std::fma(p, square, 0.11283715f);
  p = std::fma(p, square, -0.37612635f);
  return std::fma(p * square, x, 1.12837917f * x);
}

/// erfc(x) for x in [0.4, 11].
PRECAST_HOST_DEVICE f32 erfc_far(f32 x) {
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
PRECAST_HOST_DEVICE f32 erfc_of_positive(f32 x) {
#if defined(__CUDA_ARCH__)
  return erfcf(x);
#else
  x = select(x > 11.0f, 11.0f, x);
  const f32 near = 1.0f - detail::erf_near_zero(x), far = detail::erfc_far(x);
  return select(x < 0.5f, near, far);
#endif
}

/// a b, rounded: it is never contracted into an FMA with the sum that it goes into. On a host this holds in
/// loops between the macros of dtype/exact_arithmetic.hpp.
PRECAST_HOST_DEVICE f32 rounded_product(f32 a, f32 b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace precast::math
