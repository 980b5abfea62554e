// Encoders of iq4_nl and iq4_xs, to ggml's bytes: 15 scales around the one of the extreme value are tried in
// each group of 32.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/quant/rounding.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The boundary between two neighbouring codes: from their midpoint on, the higher one is nearer.
constexpr f32 iq4_middle(int below) {
  using precast::detail::iq4_value;
  return 0.5f * static_cast<f32>(iq4_value(below) + iq4_value(below + 1));
}

/// The codes of the integers nearest to values, the higher one of two at the same distance; 15 for NaN.
template <class F>
[[gnu::always_inline]] inline IntegersOf<F> nearest_iq4_codes(F values) {
  IntegersOf<F> codes = {};
  for (int below = 0; below < 15; ++below) codes += 1 + (values < iq4_middle(below));
  return codes;
}

/// The integers of nearest_iq4_codes' codes.
template <class F>
[[gnu::always_inline]] inline F nearest_iq4(F values) {
  F nearest = every<F>(static_cast<f32>(precast::detail::iq4_value(0)));
  for (int below = 0; below < 15; ++below)
    nearest = values < iq4_middle(below) ? nearest
                                         : every<F>(static_cast<f32>(precast::detail::iq4_value(below + 1)));
  return nearest;
}

/// The scale of 32 values with the least squared error, each value weighted by its square. Trial scales are
/// in lanes, so that the sums of each run from the first value to the last.
inline f32 fit_iq4(const f32* values) {
  constexpr int count = 32, tries = 7, scales = 2 * tries + 2;
  constexpr f32 lowest = static_cast<f32>(precast::detail::iq4_value(0));
  const f32 largest = extreme_in_lanes<count>(values);
  if (std::fabs(largest) < empty_group) return 0;
  f32 by[scales] = {1 / (-largest / lowest)};
  for (int step = -tries; step <= tries; ++step)
    by[step + tries + 1] = (static_cast<f32>(step) + lowest) / largest;

  using F = Floats<lanes_for<scales>>;
  f32 sums[scales], squares[scales];
  for (int s = 0; s < scales; s += lanes_of<F>) {
    const F these = load<F>(by + s);
    F sum = {}, square = {};
    for (int i = 0; i < count; ++i) {
      const F integer = nearest_iq4(these * values[i]);
      // Weight times integer first: the order in which the reference rounds here.
      const F weighted = values[i] * values[i] * integer;
      sum += weighted * values[i];
      square += weighted * integer;
    }
    store(sum, sums + s), store(square, squares + s);
  }
  f32 scale = squares[0] > 0 ? sums[0] / squares[0] : 0.0f;
  f32 best = scale * sums[0];
  for (int s = 1; s < scales; ++s)
    if (squares[s] > 0 && sums[s] * sums[s] > best * squares[s]) {
      scale = sums[s] / squares[s];
      best = scale * sums[s];
    }
  return scale;
}

/// Writes a group's integer, in [-32, 31], into a block whose scales are 0 there.
inline void put_group_scale(int integer, int group, iq4_xs& block) {
  const int stored = integer + 32;
  block.scales_low[group / 2] =
      static_cast<std::uint8_t>(block.scales_low[group / 2] | (stored & 15) << (4 * (group % 2)));
  block.scales_high = static_cast<std::uint16_t>(block.scales_high | (stored >> 4) << (2 * group));
}

/// Writes the codes of 32 values, each times `by`, to 16 bytes.
inline void code_iq4(const f32* values, f32 by, std::uint8_t* low) {
  using F = Floats<lanes_for<16>>;
  for (int i = 0; i < 16; i += lanes_of<F>)
    store_bytes(nearest_iq4_codes(by * load<F>(values + i)) | nearest_iq4_codes(by * load<F>(values + i + 16))
                                                                  << 4,
                low + i);
}

}  // namespace detail

/// Encodes 32 values.
inline void encode_block(const f32* values, iq4_nl& block) {
  const f32 scale = detail::fit_iq4(values);
  block.scale = half_code(scale);
  detail::code_iq4(values, reciprocal(scale), block.low);
}

/// Encodes 256 values. The codes follow from the block's scale as it was before it became an f16.
inline void encode_block(const f32* values, iq4_xs& block) {
  f32 scales[8], widest = 0;
  for (int g = 0; g < 8; ++g) {
    scales[g] = detail::fit_iq4(values + 32 * g);
    if (std::fabs(scales[g]) > std::fabs(widest)) widest = scales[g];
  }
  block = {};
  const f32 scale = -widest / 32.0f;
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  for (int g = 0; g < 8; ++g) {
    const int integer = clamped(nearest_even(by * scales[g]), -32, 31);
    detail::code_iq4(values + 32 * g, reciprocal(scale * static_cast<f32>(integer)), block.low + 16 * g);
    detail::put_group_scale(integer, g, block);
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
