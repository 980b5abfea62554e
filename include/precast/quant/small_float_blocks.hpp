// Encoders of mxfp4 and nvfp4, to ggml's bytes, and of mxfp6 and mxfp8, as OCP's specification of
// Microscaling formats says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/quant/rounding.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The codes of e2m1 whose numbers times 2 * half_scale are nearest to values, the lowest one of equals. A
/// number of the other sign is never nearer than 0.
template <class F>
[[gnu::always_inline]] inline IntegersOf<F> nearest_e2m1(F values, f32 half_scale) {
  const F size = magnitude(values);
  F best_error = size;
  IntegersOf<F> best = {};
  for (int code = 1; code < 8; ++code) {
    const F error = magnitude(static_cast<f32>(precast::detail::twice_e2m1(code)) * half_scale - size);
    const auto better = error < best_error;
    best = better ? every<IntegersOf<F>>(code) : best;
    best_error = better ? error : best_error;
  }
  return best | (((values < 0) & (best > 0)) & 8);
}

/// The codes of 2 * half values by one scale: of value i, and above it of value i + half.
template <int half>
void code_e2m1(const f32* values, f32 half_scale, std::uint8_t* low) {
  using F = Floats<lanes_for<half>>;
  for (int i = 0; i < half; i += lanes_of<F>)
    store_bytes(nearest_e2m1(load<F>(values + i), half_scale) |
                    nearest_e2m1(load<F>(values + i + half), half_scale) << 4,
                low + i);
}

/// The code of e4m3 without sign nearest to a value, ties up; 448 for larger values, 0 for NaN and for
/// values that are not positive.
inline std::uint8_t unsigned_e4m3(f32 value) {
  if (!(value > 0)) return 0;
  const f32 limited = value < 448.0f ? value : 448.0f;
  const auto word = bit_cast<std::uint32_t>(limited);
  const int exponent = static_cast<int>(word >> 23) - 127 + 7;
  if (exponent <= 0) return static_cast<std::uint8_t>(truncated(limited * 512.0f + 0.5f, 0, 7));
  const std::uint32_t eighths = (word >> 20 & 7) + (word >> 19 & 1);
  const std::uint32_t code = static_cast<std::uint32_t>(exponent) * 8 + eighths;  // 8 eighths carry over
  // The reference treats every code with the top exponent as the largest number.
  return static_cast<std::uint8_t>(code >= 15 * 8 ? 0x7e : code);
}

}  // namespace detail

/// Encodes 32 values. The exponent is log2 of the largest magnitude as the C library rounds it to f32,
/// without fraction, less 2.
inline void encode_block(const f32* values, mxfp4& block) {
  const f32 largest = detail::largest_magnitude<32>(values);
  block.scale = 0;
  if (largest > 0) {
    const f32 exponent = std::floor(std::log2(largest)) - 2.0f + 127.0f;
    block.scale = static_cast<std::uint8_t>(truncated(exponent, 0, 254));
  }
  detail::code_e2m1<16>(values, precast::detail::half_e8m0(block.scale), block.low);
}

/// Encodes 64 values.
inline void encode_block(const f32* values, nvfp4& block) {
  for (int g = 0; g < 4; ++g) {
    const f32* const in = values + 16 * g;
    block.scales[g] = detail::unsigned_e4m3(detail::largest_magnitude<16>(in) / 6.0f);
    detail::code_e2m1<8>(in, precast::detail::half_unsigned_e4m3(block.scales[g]), block.low + 8 * g);
  }
}

namespace detail {

/// Writes 32 codes of six bits, four in three bytes.
inline void put_six_bits(const std::uint8_t* codes, std::uint8_t* to) {
  for (int four = 0; four < 8; ++four, codes += 4, to += 3) {
    to[0] = static_cast<std::uint8_t>(codes[0] | codes[1] << 6);
    to[1] = static_cast<std::uint8_t>(codes[1] >> 2 | codes[2] << 4);
    to[2] = static_cast<std::uint8_t>(codes[2] >> 4 | codes[3] << 2);
  }
}

/// Encodes 32 values over 2^power: each is rounded to nearest even, and limited to the largest number. No
/// product with a power of two rounds, but where elements have nothing but 0.
template <precast::detail::Microscaled Block>
void code_over_power(const f32* values, int power, Block& block) {
  block.scale = static_cast<std::uint8_t>(power + 127);
  const f32 by = static_cast<f32>(power_of_two(-power));
  std::uint8_t codes[32];
  for (int i = 0; i < 32; ++i)
    codes[i] = convert_value<precast::detail::element_of<Block>, true>(values[i] * by).bits;
  if constexpr (precast::detail::Mxfp6<Block>)
    put_six_bits(codes, block.codes);
  else
    std::copy_n(codes, 32, block.codes);
}

/// The power of two of OCP's scale: that of the largest magnitude, less that of the largest element; in
/// [least, most].
template <ScalarDtype Element>
int power_for(const f32* values, int least, int most) {
  constexpr int of_largest = format_of<Element>().max_exponent();
  const f32 largest = largest_magnitude<32>(values);
  return largest > 0 ? clamped(std::ilogb(largest) - of_largest, least, most) : least;
}

}  // namespace detail

/// Encodes 32 values.
template <precast::detail::Microscaled Block>
void encode_block(const f32* values, Block& block) {
  using Element = precast::detail::element_of<Block>;
  detail::code_over_power(values, detail::power_for<Element>(values, -127, 127), block);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
