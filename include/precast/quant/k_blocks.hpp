// Encoders of q6_k q5_k q4_k q3_k q2_k, to ggml's bytes: a search in each group, then the groups' scales as
// integers under the block's, then the final codes of the values under the stored scales.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/quant/group_fits.hpp>
#include <precast/quant/k_layout.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The search that the reference runs in the groups of a block.
template <class Block>
struct ReferenceSearch;
template <>
struct ReferenceSearch<q6_k> {
  using fit = FitAroundZero;
};
template <>
struct ReferenceSearch<q5_k> {
  using fit = FitLine<LineSearch{31, -0.5f, 0.1f, 15, false}>;
};
template <>
struct ReferenceSearch<q4_k> {
  using fit = FitLine<LineSearch{15, -1.0f, 0.1f, 20, false}>;
};
template <>
struct ReferenceSearch<q3_k> {
  using fit = FitOneByOne;
};
template <>
struct ReferenceSearch<q2_k> {
  using fit = FitLine<LineSearch{3, -0.5f, 0.1f, 15, true}>;
};

/// The largest of positive numbers; 0 where there is none.
template <int count>
f32 most_of(const f32* numbers) {
  f32 most = 0;
  for (int i = 0; i < count; ++i)
    if (numbers[i] > most) most = numbers[i];
  return most;
}

/// Writes the block's scale and its groups' integers from the results of the searches. Returns false where
/// that completes the block, because all its groups are empty.
inline bool put_scales(const f32* scales, const f32*, q6_k& block) {
  block = {};
  const f32 widest = extreme<16>(scales);
  if (std::fabs(widest) < empty_group) return false;
  const f32 by = -128.0f / widest;
  block.scale = half_code(1 / by);
  for (int g = 0; g < 16; ++g) {
    const int integer = nearest_even(by * scales[g]);
    block.scales[g] = static_cast<std::int8_t>(integer < 127 ? integer : 127);
  }
  return true;
}
template <class Block>
  requires(KFacts<Block>::groups == 8)
bool put_scales(const f32* scales, const f32* leasts, Block& block) {
  const f32 widest_scale = most_of<8>(scales), widest_least = most_of<8>(leasts);
  const f32 by_scale = widest_scale > 0 ? 63.0f / widest_scale : 0.0f;
  const f32 by_least = widest_least > 0 ? 63.0f / widest_least : 0.0f;
  int scale[8], least[8];
  for (int g = 0; g < 8; ++g) {
    // A negative scale wraps around in a byte before it is limited to six bits, as the reference has it.
    scale[g] = clamped(static_cast<std::uint8_t>(nearest_even(by_scale * scales[g])), 0, 63);
    least[g] = clamped(static_cast<std::uint8_t>(nearest_even(by_least * leasts[g])), 0, 63);
  }
  put_six_bits(scale, least, block.scales);
  block.scale = half_code(widest_scale / 63.0f);
  block.least = half_code(widest_least / 63.0f);
  return true;
}
inline bool put_scales(const f32* scales, const f32*, q3_k& block) {
  block = {};
  const f32 widest = extreme<16>(scales);
  if (widest == 0) return true;
  const f32 by = -32.0f / widest;
  int integers[16];
  for (int g = 0; g < 16; ++g)
    integers[g] = clamped(static_cast<std::int8_t>(nearest_even(by * scales[g])), -32, 31) + 32;
  put_six_bits_of_16(integers, block.scales);
  block.scale = half_code(1 / by);
  return true;
}
inline bool put_scales(const f32* scales, const f32* leasts, q2_k& block) {
  const f32 widest_scale = most_of<16>(scales), widest_least = most_of<16>(leasts);
  block = {};
  if (widest_scale > 0) {
    const f32 by = 15.0f / widest_scale;
    // A negative scale fills the byte's upper bits too, as the reference has it.
    for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<std::uint8_t>(nearest_even(by * scales[g]));
    block.scale = half_code(widest_scale / 15.0f);
  }
  if (widest_least > 0) {
    const f32 by = 15.0f / widest_least;
    for (int g = 0; g < 16; ++g)
      block.scales[g] = static_cast<std::uint8_t>(block.scales[g] | nearest_even(by * leasts[g]) << 4);
    block.least = half_code(widest_least / 15.0f);
  }
  return true;
}

/// Codes of a group's values by the scale and the least value that are stored.
template <class Block, int count>
void code_group(const f32* values, GroupLine line, std::uint8_t* codes) {
  constexpr int least = KFacts<Block>::least, most = KFacts<Block>::most;
  using F = Floats<lanes_for<count>>;
  for (int i = 0; i < count; i += lanes_of<F>) {
    F value = load<F>(values + i);
    if constexpr (least == 0) value += line.least;
    store_bytes(clamped(nearest_even(value / line.scale), least, least + most) - least, codes + i);
  }
}

/// Codes of a block's 256 values by its scales, which are there already. without_scale(group, codes) writes
/// those of a group whose scale is 0.
template <class Block, class WithoutScale>
void code_by_lines(const f32* values, Block& block, WithoutScale without_scale) {
  constexpr int groups = KFacts<Block>::groups, in_group = 256 / groups;
  std::uint8_t codes[256];
  for (int g = 0; g < groups; ++g) {
    const GroupLine line = line_of(block, g);
    if (line.scale != 0)
      code_group<Block, in_group>(values + g * in_group, line, codes + g * in_group);
    else
      without_scale(g, codes + g * in_group);
  }
  put_codes(codes, block);
}

/// Encodes `count` blocks of 256 values, whose groups' searches run side by side.
template <int count, class Block>
void encode_side_by_side(const f32* values, Block* blocks) {
  constexpr int groups = KFacts<Block>::groups, in_group = 256 / groups;
  using Fit = typename ReferenceSearch<Block>::fit;
  const auto fits = fit_groups<Fit, in_group, groups * count>(values);
  for (int b = 0; b < count; ++b) {
    const int first = b * groups;
    if (!put_scales(fits.scales + first, fits.leasts + first, blocks[b])) continue;
    // Without a scale codes stay as the search left them.
    code_by_lines(values + 256 * b, blocks[b], [&](int g, std::uint8_t* codes) {
      for (int i = 0; i < in_group; ++i) codes[i] = fits.code(first + g, i);
    });
  }
}

}  // namespace detail

/// Encodes 256 values for each block.
template <class Block>
  requires requires { typename detail::ReferenceSearch<Block>::fit; }
void encode_blocks(const f32* values, std::span<Block> blocks) {
  // As many as fill the lanes of the searches that run at once.
  constexpr int groups = detail::KFacts<Block>::groups;
  constexpr int side_by_side = detail::native_lanes * detail::ReferenceSearch<Block>::fit::at_once;
  constexpr int count = side_by_side > groups ? side_by_side / groups : 1;
  std::size_t b = 0;
  for (; b + count <= blocks.size(); b += count)
    detail::encode_side_by_side<count>(values + 256 * b, &blocks[b]);
  if constexpr (count > 1)
    for (; b < blocks.size(); ++b) detail::encode_side_by_side<1>(values + 256 * b, &blocks[b]);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
