// The roundings of block encoders, defined for every f32.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/quant/exact_arithmetic.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// Below this a group counts as empty in q3_k, q6_k, iq4_nl and iq4_xs.
inline constexpr f32 empty_group = 1e-15f;

/// The nearest integer, ties to even, for |value| up to 2^22: there the ulp of the sum is 1. For larger
/// values and NaN it is whatever these bits hold, as in the reference; callers clamp it.
inline int nearest_even(f32 value) {
  const auto word = bit_cast<std::uint32_t>(value + 12582912.f);
  return static_cast<int>(word & 0x007fffffu) - 0x00400000;
}

inline int clamped(int value, int least, int most) {
  value = value > least ? value : least;
  return value < most ? value : most;
}

/// A value without its fraction, between `least` and `most`; NaN becomes `least`.
inline int truncated(f32 value, int least, int most) {
  value = value > static_cast<f32>(least) ? value : static_cast<f32>(least);
  value = value < static_cast<f32>(most) ? value : static_cast<f32>(most);
  return static_cast<int>(value);
}

/// The nearest integer, halves away from zero, between `least` and `most`; NaN becomes `least`.
inline int nearest_away(f32 value, int least, int most) {
  const int whole = truncated(value, least, most);
  const f32 rest = value - static_cast<f32>(whole);  // exact where the value is in range
  return clamped(whole + (rest >= 0.5f) - (rest <= -0.5f), least, most);
}

/// The f16 nearest to a scale, as blocks store it, and the number that this is.
inline std::uint16_t half_code(f32 value) { return convert_value<f16>(value).bits; }

/// 1 / scale, of the scale before it is rounded to what the block stores; 0 for 0.
inline f32 reciprocal(f32 scale) { return scale != 0 ? 1.0f / scale : 0.0f; }

/// The first of the values with the largest magnitude; 0 where all are 0.
template <int count>
f32 extreme(const f32* values) {
  f32 largest = 0, found = 0;
  for (int i = 0; i < count; ++i) {
    const f32 magnitude = std::fabs(values[i]);
    if (magnitude > largest) largest = magnitude, found = values[i];
  }
  return found;
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
