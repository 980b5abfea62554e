// Encoders of mxfp4 and nvfp4, to ggml's bytes, and of mxfp8, as OCP's specification of Microscaling formats
// says.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The code of e2m1 whose number times 2 * half_scale is nearest to a value, the lowest one of equals.
inline int nearest_e2m1(f32 value, f32 half_scale) {
  int best = 0;
  f32 best_error = std::fabs(value);
  for (int code = 1; code < 16; ++code) {
    const f32 number = static_cast<f32>(precast::detail::twice_e2m1(code)) * half_scale;
    const f32 error = std::fabs(number - value);
    if (error < best_error) best = code, best_error = error;
  }
  return best;
}

/// The code of e4m3 without sign nearest to a value, ties up; 448 for what is larger, 0 for what is no
/// positive number.
inline std::uint8_t unsigned_e4m3(f32 value) {
  if (!(value > 0)) return 0;
  const f32 limited = value < 448.0f ? value : 448.0f;
  const auto word = bit_cast<std::uint32_t>(limited);
  const int exponent = static_cast<int>(word >> 23) - 127 + 7;
  if (exponent <= 0) return static_cast<std::uint8_t>(truncated(limited * 512.0f + 0.5f, 0, 7));
  const std::uint32_t eighths = (word >> 20 & 7) + (word >> 19 & 1);
  const std::uint32_t code = static_cast<std::uint32_t>(exponent) * 8 + eighths;  // 8 eighths carry over
  // The reference takes all that has the top exponent for the largest number.
  return static_cast<std::uint8_t>(code >= 15 * 8 ? 0x7e : code);
}

}  // namespace detail

/// Encodes 32 values. The exponent is log2 of the largest magnitude as the C library rounds it to f32,
/// without fraction, less 2.
inline void encode_block(const f32* values, mxfp4& block) {
  const f32 largest = std::fabs(extreme<32>(values));
  block.scale = 0;
  if (largest > 0) {
    const f32 exponent = std::floor(std::log2(largest)) - 2.0f + 127.0f;
    block.scale = static_cast<std::uint8_t>(truncated(exponent, 0, 254));
  }
  const f32 half_scale = precast::detail::half_e8m0(block.scale);
  for (int i = 0; i < 16; ++i)
    block.low[i] = static_cast<std::uint8_t>(detail::nearest_e2m1(values[i], half_scale) |
                                             detail::nearest_e2m1(values[i + 16], half_scale) << 4);
}

/// Encodes 64 values.
inline void encode_block(const f32* values, nvfp4& block) {
  for (int g = 0; g < 4; ++g) {
    const f32* const in = values + 16 * g;
    block.scales[g] = detail::unsigned_e4m3(std::fabs(extreme<16>(in)) / 6.0f);
    const f32 half_scale = precast::detail::half_unsigned_e4m3(block.scales[g]);
    for (int i = 0; i < 8; ++i)
      block.low[8 * g + i] = static_cast<std::uint8_t>(detail::nearest_e2m1(in[i], half_scale) |
                                                       detail::nearest_e2m1(in[i + 8], half_scale) << 4);
  }
}

/// Encodes 32 values: the scale is the power of two of the largest magnitude, less e4m3's largest, 2^8; each
/// value over it is rounded to nearest even, and limited to 448.
inline void encode_block(const f32* values, mxfp8& block) {
  const f32 largest = std::fabs(extreme<32>(values));
  int power = -127;
  if (largest > 0) power = clamped(std::ilogb(largest) - 8, -127, 127);
  block.scale = static_cast<std::uint8_t>(power + 127);
  for (int i = 0; i < 32; ++i) {
    // In f64 no division by a power of two rounds; the one rounding is to e4m3.
    const double value = static_cast<double>(values[i]) * power_of_two(-power);
    block.codes[i] = precast::detail::saturated(from_double<fp8_e4m3>(value)).bits;
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
