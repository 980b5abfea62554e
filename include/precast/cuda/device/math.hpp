// Functions of f32 that kernels use; the same names on both sides.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <precast/cuda/device/side.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

inline constexpr f32 infinity = std::numeric_limits<f32>::infinity();
inline constexpr f32 quiet_nan = std::numeric_limits<f32>::quiet_NaN();
inline constexpr f32 log2_of_e = 1.44269504f, log_of_2 = 0.693147181f;

/// Tests the exponent's bits, which holds whatever a compiler assumes of arithmetic (-ffast-math).
PRECAST_DEVICE bool is_finite(f32 x) { return (bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
PRECAST_DEVICE f32 maximum(f32 a, f32 b) { return fmaxf(a, b); }  ///< a NaN loses
PRECAST_DEVICE f32 multiply_then_add(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
PRECAST_DEVICE f32 square_root(f32 x) { return sqrtf(x); }
PRECAST_DEVICE f32 exponential(f32 x) { return expf(x); }
PRECAST_DEVICE f32 cosine(f32 x) { return cosf(x); }
PRECAST_DEVICE f32 sine(f32 x) { return sinf(x); }

PRECAST_DEVICE double exponential(double x) { return exp(x); }
/// Cosine and sine of an angle below 10^6, within 10^-10. On the device by cospi and sinpi, which need no
/// table.
PRECAST_DEVICE double cosine(double x) {
#if PRECAST_ON_DEVICE
  return cospi(x * 0.31830988618379067);
#else
  return std::cos(x);
#endif
}
PRECAST_DEVICE double sine(double x) {
#if PRECAST_ON_DEVICE
  return sinpi(x * 0.31830988618379067);
#else
  return std::sin(x);
#endif
}

/// 1 / x within 1 ulp, subnormals flushed to zero (rcp.approx). An exact reciprocal calls a subroutine,
/// around which ptxas waits for every wgmma in relocatable code (-rdc=true).
PRECAST_DEVICE f32 reciprocal_fast(f32 x) {
#if PRECAST_ON_DEVICE
  f32 result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1.0f / x;
#endif
}

/// 2^x within 2 ulp, subnormals flushed to zero (ex2.approx).
PRECAST_DEVICE f32 power_of_two_fast(f32 x) {
#if PRECAST_ON_DEVICE
  f32 result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  const f32 result = std::exp2(x);
  return result < std::numeric_limits<f32>::min() ? 0.0f : result;
#endif
}

}  // namespace precast::gpu
