// Encoders of q8_0 q5_1 q5_0 q4_1 q4_0, to ggml's bytes: the scale follows from the extremes, and each value
// is multiplied by the reciprocal of the scale as it was before it became an f16.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/rounded_blocks.hpp>
#include <precast/quant/rounding.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// A block's 32 values in lanes: as many vectors as that takes.
using Lanes32 = Floats<lanes_for<32>>;
inline constexpr int vectors_of_32 = 32 / lanes_of<Lanes32>;

/// Stores 32 integers of 4 or 5 bits, in the order of the lanes.
template <int bits, class I, class Block>
[[gnu::always_inline]] inline void put_integers(const I (&integers)[vectors_of_32], Block& block) {
  constexpr int lanes = lanes_of<I>, half = vectors_of_32 / 2;
  for (int v = 0; v < half; ++v)
    store_bytes((integers[v] & 15) | (integers[v + half] & 15) << 4, block.low + lanes * v);
  if constexpr (bits == 5) {
    I lane;
    for (int i = 0; i < lanes; ++i) lane[i] = i;
    I fifth = {};
    for (int v = 0; v < vectors_of_32; ++v) fifth |= (integers[v] >> 4) << (lane + lanes * v);
    const auto word = static_cast<std::uint32_t>(over_lanes<std::int32_t>(fifth, Either{}));
    for (int byte = 0; byte < 4; ++byte) block.high[byte] = static_cast<std::uint8_t>(word >> (8 * byte));
  }
}

/// The least and the largest of 32 values, the first of equal ones: which matters to the sign of a zero.
struct Range {
  f32 least = FLT_MAX, most = -FLT_MAX;
};
inline Range range_of_32(const f32* values) {
  Lanes32 least = load<Lanes32>(values), most = least;
  for (int v = 1; v < vectors_of_32; ++v) {
    const auto these = load<Lanes32>(values + v * lanes_of<Lanes32>);
    least = least < these ? least : these;
    most = Larger{}(most, these);
  }
  Range range{-over_lanes<f32>(-least, Larger{}), over_lanes<f32>(most, Larger{})};
  if (range.least == 0 || range.most == 0) {
    range = {};
    for (int i = 0; i < 32; ++i) {
      if (values[i] < range.least) range.least = values[i];
      if (values[i] > range.most) range.most = values[i];
    }
  }
  return range;
}

/// The extreme value becomes the least integer, -2^(bits - 1), so the scale has the other sign.
template <int bits, class Block>
void encode_around_zero(const f32* values, Block& block) {
  constexpr int middle = 1 << (bits - 1);
  const f32 scale = extreme_in_lanes<32>(values) / static_cast<f32>(-middle);
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  IntegersOf<Lanes32> integers[vectors_of_32];
  for (int v = 0; v < vectors_of_32; ++v)
    integers[v] =
        truncated(load<Lanes32>(values + v * lanes_of<Lanes32>) * by + (static_cast<f32>(middle) + 0.5f), 0,
                  2 * middle - 1);
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
  IntegersOf<Lanes32> integers[vectors_of_32];
  for (int v = 0; v < vectors_of_32; ++v)
    integers[v] =
        truncated((load<Lanes32>(values + v * lanes_of<Lanes32>) - range.least) * by + 0.5f, 0, most);
  put_integers<bits>(integers, block);
}

}  // namespace detail

/// Encodes 32 values.
inline void encode_block(const f32* values, q8_0& block) {
  using detail::Lanes32;
  const f32 scale = detail::largest_magnitude<32>(values) / 127.0f;
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  for (int i = 0; i < 32; i += detail::lanes_of<Lanes32>)
    detail::store_bytes(nearest_away(detail::load<Lanes32>(values + i) * by, -128, 127), block.integers + i);
}
inline void encode_block(const f32* values, q5_0& block) { detail::encode_around_zero<5>(values, block); }
inline void encode_block(const f32* values, q4_0& block) { detail::encode_around_zero<4>(values, block); }
inline void encode_block(const f32* values, q5_1& block) { detail::encode_from_least<5>(values, block); }
inline void encode_block(const f32* values, q4_1& block) { detail::encode_from_least<4>(values, block); }

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
