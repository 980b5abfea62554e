// Encoders of iq4_nl and iq4_xs, to ggml's bytes: 15 scales around the one of the extreme value are tried in
// each group of 32.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/quant/group_fits.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The code of the integer nearest to a value, the higher one of two at the same distance.
inline int nearest_iq4(f32 value) {
  using precast::detail::iq4_value;
  if (value <= static_cast<f32>(iq4_value(0))) return 0;
  if (value >= static_cast<f32>(iq4_value(15))) return 15;
  int above = 1;
  while (above < 15 && !(value < static_cast<f32>(iq4_value(above)))) ++above;
  const f32 low = static_cast<f32>(iq4_value(above - 1)), high = static_cast<f32>(iq4_value(above));
  return value - low < high - value ? above - 1 : above;
}

/// The scale of 32 values that leaves the least squared error, each value weighted by its square.
inline FittedScale fit_iq4(const f32* values) {
  constexpr int count = 32, tries = 7;
  constexpr f32 lowest = static_cast<f32>(precast::detail::iq4_value(0));
  const f32 largest = extreme<count>(values);
  if (std::fabs(largest) < empty_group) return {};
  const auto sums_with = [&](f32 by) {
    ScaleSums sums;
    for (int i = 0; i < count; ++i) {
      const f32 integer = static_cast<f32>(precast::detail::iq4_value(nearest_iq4(by * values[i])));
      // Weight times integer first: the order in which the reference rounds here.
      const f32 weighted = values[i] * values[i] * integer;
      sums.values += weighted * values[i];
      sums.squares += weighted * integer;
    }
    return sums;
  };
  const ScaleSums first = sums_with(1 / (-largest / lowest));
  f32 scale = first.squares > 0 ? first.values / first.squares : 0.0f;
  f32 best = scale * first.values;
  for (int step = -tries; step <= tries; ++step) {
    const ScaleSums sums = sums_with((static_cast<f32>(step) + lowest) / largest);
    if (sums.squares > 0 && sums.values * sums.values > best * sums.squares) {
      scale = sums.values / sums.squares;
      best = scale * sums.values;
    }
  }
  return {scale};
}

/// Writes the codes of 32 values, each times `by`, to 16 bytes.
inline void code_iq4(const f32* values, f32 by, std::uint8_t* low) {
  for (int i = 0; i < 16; ++i)
    low[i] = static_cast<std::uint8_t>(nearest_iq4(by * values[i]) | nearest_iq4(by * values[i + 16]) << 4);
}

}  // namespace detail

/// Encodes 32 values.
inline void encode_block(const f32* values, iq4_nl& block) {
  const f32 scale = detail::fit_iq4(values).scale;
  block.scale = half_code(scale);
  detail::code_iq4(values, reciprocal(scale), block.low);
}

/// Encodes 256 values. The codes follow from the block's scale as it was before it became an f16.
inline void encode_block(const f32* values, iq4_xs& block) {
  f32 scales[8], widest = 0;
  for (int g = 0; g < 8; ++g) {
    scales[g] = detail::fit_iq4(values + 32 * g).scale;
    if (std::fabs(scales[g]) > std::fabs(widest)) widest = scales[g];
  }
  block = {};
  const f32 scale = -widest / 32.0f;
  const f32 by = reciprocal(scale);
  block.scale = half_code(scale);
  for (int g = 0; g < 8; ++g) {
    const int integer = clamped(nearest_even(by * scales[g]), -32, 31);
    detail::code_iq4(values + 32 * g, reciprocal(scale * static_cast<f32>(integer)), block.low + 16 * g);
    const int stored = integer + 32;
    block.scales_low[g / 2] =
        static_cast<std::uint8_t>(block.scales_low[g / 2] | (stored & 15) << (4 * (g % 2)));
    block.scales_high = static_cast<std::uint16_t>(block.scales_high | (stored >> 4) << (2 * g));
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
