// Encoders of q8_0 q5_1 q5_0 q4_1 q4_0, to ggml's bytes: the scale follows from the extremes, and each value
// is multiplied by the reciprocal of the scale as it was before it became an f16.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/rounded_blocks.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// Stores 32 integers of 4 or 5 bits.
template <int bits, class Block>
void put_integers(const std::uint8_t (&integers)[32], Block& block) {
  for (int i = 0; i < 16; ++i)
    block.low[i] = static_cast<std::uint8_t>((integers[i] & 15) | (integers[i + 16] & 15) << 4);
  if constexpr (bits == 5)
    for (int byte = 0; byte < 4; ++byte) {
      int high = 0;
      for (int i = 0; i < 8; ++i) high |= (integers[8 * byte + i] >> 4) << i;
      block.high[byte] = static_cast<std::uint8_t>(high);
    }
}

/// The least and the largest of 32 values, the first of equal ones.
struct Range {
  f32 least = FLT_MAX, most = -FLT_MAX;
};
inline Range range_of_32(const f32* values) {
  Range range;
  for (int i = 0; i < 32; ++i) {
    if (values[i] < range.least) range.least = values[i];
    if (values[i] > range.most) range.most = values[i];
  }
  return range;
}

/// The extreme value becomes the least integer, -2^(bits - 1), so the scale has the other sign.
template <int bits, class Block>
void encode_around_zero(const f32* values, Block& block) {
  constexpr int middle = 1 << (bits - 1);
  const f32 scale = extreme<32>(values) / static_cast<f32>(-middle);
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  std::uint8_t integers[32];
  for (int i = 0; i < 32; ++i) {
    const f32 from_least = values[i] * by + (static_cast<f32>(middle) + 0.5f);
    integers[i] = static_cast<std::uint8_t>(truncated(from_least, 0, 2 * middle - 1));
  }
  put_integers<bits>(integers, block);
}

/// Integers count from the least value to the largest.
template <int bits, class Block>
void encode_from_least(const f32* values, Block& block) {
  constexpr int most = (1 << bits) - 1;
  const Range range = range_of_32(values);
  const f32 scale = (range.most - range.least) / static_cast<f32>(most);
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  block.least = half_code(range.least);
  std::uint8_t integers[32];
  for (int i = 0; i < 32; ++i)
    integers[i] = static_cast<std::uint8_t>(truncated((values[i] - range.least) * by + 0.5f, 0, most));
  put_integers<bits>(integers, block);
}

}  // namespace detail

/// Encodes 32 values.
inline void encode_block(const f32* values, q8_0& block) {
  const f32 scale = std::fabs(extreme<32>(values)) / 127.0f;
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  for (int i = 0; i < 32; ++i)
    block.integers[i] = static_cast<std::int8_t>(nearest_away(values[i] * by, -128, 127));
}
inline void encode_block(const f32* values, q5_0& block) { detail::encode_around_zero<5>(values, block); }
inline void encode_block(const f32* values, q4_0& block) { detail::encode_around_zero<4>(values, block); }
inline void encode_block(const f32* values, q5_1& block) { detail::encode_from_least<5>(values, block); }
inline void encode_block(const f32* values, q4_1& block) { detail::encode_from_least<4>(values, block); }

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
