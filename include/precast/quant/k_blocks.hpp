// Encoders of q6_k q5_k q4_k q3_k q2_k, to ggml's bytes: a search in each group, then the groups' scales as
// integers of the block's, then each value once more by what is stored.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/quant/group_fits.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

using precast::detail::half_value;

/// The largest of positive numbers; 0 where there is none.
template <int count>
f32 most_of(const f32 (&numbers)[count]) {
  f32 most = 0;
  for (const f32 number : numbers)
    if (number > most) most = number;
  return most;
}

/// Two bits of each of 256 codes as q2_k and q3_k store them.
inline void pack_two_bits(const std::uint8_t* codes, std::uint8_t* low) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t* const from = codes + 128 * half + i;
      low[32 * half + i] = static_cast<std::uint8_t>((from[0] & 3) | (from[32] & 3) << 2 |
                                                     (from[64] & 3) << 4 | (from[96] & 3) << 6);
    }
}

/// Codes of group g's values by the scale and the least value that are stored: integers in [from, from +
/// most], less `from`. They stay as the search left them where that scale is 0.
template <int from, int most, int count, int groups>
void code_again(const f32* values, f32 scale, f32 least, const Fits<count, groups>& fits, int g,
                std::uint8_t* codes) {
  values += count * g, codes += count * g;
  if (scale == 0) {
    for (int i = 0; i < count; ++i) codes[i] = fits.codes[i * groups + g];
    return;
  }
  using F = Floats<lanes_for<count>>;
  for (int i = 0; i < count; i += lanes_of<F>) {
    F value = load<F>(values + i);
    if constexpr (from == 0) value += least;
    store_bytes(clamped(nearest_even(value / scale), from, from + most) - from, codes + i);
  }
}

/// What q4_k and q5_k share: codes in [0, search.most], and the block's scales.
template <LineSearch search, class Block>
void encode_lines_of_32(const f32* values, Block& block, std::uint8_t* codes) {
  constexpr int groups = 8, count = 32;
  const auto fits = fit_groups<FitLine<search>, count, groups>(values);
  const f32 widest_scale = most_of(fits.scales), widest_least = most_of(fits.leasts);
  const f32 by_scale = widest_scale > 0 ? 63.0f / widest_scale : 0.0f;
  const f32 by_least = widest_least > 0 ? 63.0f / widest_least : 0.0f;
  for (int g = 0; g < groups; ++g) {
    // A negative scale wraps around in a byte before it is limited to six bits, as the reference has it.
    const int scale = clamped(static_cast<std::uint8_t>(nearest_even(by_scale * fits.scales[g])), 0, 63);
    const int least = clamped(static_cast<std::uint8_t>(nearest_even(by_least * fits.leasts[g])), 0, 63);
    if (g < 4) {
      block.scales[g] = static_cast<std::uint8_t>(scale);
      block.scales[g + 4] = static_cast<std::uint8_t>(least);
    } else {
      block.scales[g + 4] = static_cast<std::uint8_t>((scale & 15) | (least & 15) << 4);
      block.scales[g - 4] = static_cast<std::uint8_t>(block.scales[g - 4] | (scale >> 4) << 6);
      block.scales[g] = static_cast<std::uint8_t>(block.scales[g] | (least >> 4) << 6);
    }
  }
  block.scale = half_code(widest_scale / 63.0f);
  block.least = half_code(widest_least / 63.0f);
  for (int g = 0; g < groups; ++g) {
    const auto integers = precast::detail::six_bits(block.scales, g);
    code_again<0, search.most>(values, half_value(block.scale) * static_cast<f32>(integers.scale),
                               half_value(block.least) * static_cast<f32>(integers.least), fits, g, codes);
  }
  for (int pair = 0; pair < groups / 2; ++pair)
    for (int i = 0; i < count; ++i) {
      const std::uint8_t* const from = codes + 64 * pair + i;
      block.low[32 * pair + i] = static_cast<std::uint8_t>((from[0] & 15) | (from[32] & 15) << 4);
    }
}

}  // namespace detail

/// Encodes 256 values.
inline void encode_block(const f32* values, q6_k& block) {
  const auto fits = fit_groups<detail::FitAroundZero, 16, 16>(values);
  const f32 widest = extreme<16>(fits.scales);
  block = {};
  if (std::fabs(widest) < empty_group) return;
  const f32 by = -128.0f / widest;
  block.scale = half_code(1 / by);
  std::uint8_t codes[256];
  for (int g = 0; g < 16; ++g) {
    const int integer = nearest_even(by * fits.scales[g]);
    block.scales[g] = static_cast<std::int8_t>(integer < 127 ? integer : 127);
    detail::code_again<-32, 63>(values, detail::half_value(block.scale) * static_cast<f32>(block.scales[g]),
                                0, fits, g, codes);
  }
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t* const from = codes + 128 * half + i;
      block.low[64 * half + i] = static_cast<std::uint8_t>((from[0] & 15) | (from[64] & 15) << 4);
      block.low[64 * half + 32 + i] = static_cast<std::uint8_t>((from[32] & 15) | (from[96] & 15) << 4);
      block.high[32 * half + i] = static_cast<std::uint8_t>(from[0] >> 4 | (from[32] >> 4) << 2 |
                                                            (from[64] >> 4) << 4 | (from[96] >> 4) << 6);
    }
}

inline void encode_block(const f32* values, q5_k& block) {
  std::uint8_t codes[256];
  block = {};
  detail::encode_lines_of_32<LineSearch{31, -0.5f, 0.1f, 15, false}>(values, block, codes);
  for (int v = 0; v < 256; ++v)
    block.high[v % 32] = static_cast<std::uint8_t>(block.high[v % 32] | (codes[v] >> 4) << (v / 32));
}

inline void encode_block(const f32* values, q4_k& block) {
  std::uint8_t codes[256];
  detail::encode_lines_of_32<LineSearch{15, -1.0f, 0.1f, 20, false}>(values, block, codes);
}

inline void encode_block(const f32* values, q3_k& block) {
  const auto fits = fit_groups<detail::FitOneByOne, 16, 16>(values);
  block = {};
  const f32 widest = extreme<16>(fits.scales);
  if (widest != 0) {
    const f32 by = -32.0f / widest;
    for (int g = 0; g < 16; ++g) {
      const int integer = clamped(static_cast<std::int8_t>(nearest_even(by * fits.scales[g])), -32, 31) + 32;
      std::uint8_t& low = block.scales[g % 8];
      std::uint8_t& high = block.scales[8 + g % 4];
      low = static_cast<std::uint8_t>(low | (integer & 15) << (4 * (g / 8)));
      high = static_cast<std::uint8_t>(high | (integer >> 4) << (2 * (g / 4)));
    }
    block.scale = half_code(1 / by);
  }
  std::uint8_t codes[256];
  for (int g = 0; g < 16; ++g) {
    const int integer = precast::detail::six_bits_of_16(block.scales, g) - 32;
    detail::code_again<-4, 7>(values, detail::half_value(block.scale) * static_cast<f32>(integer), 0, fits, g,
                              codes);
  }
  for (int v = 0; v < 256; ++v)
    block.high[v % 32] = static_cast<std::uint8_t>(block.high[v % 32] | (codes[v] >> 2) << (v / 32));
  detail::pack_two_bits(codes, block.low);
}

inline void encode_block(const f32* values, q2_k& block) {
  constexpr LineSearch search{3, -0.5f, 0.1f, 15, true};
  const auto fits = fit_groups<detail::FitLine<search>, 16, 16>(values);
  const f32 widest_scale = detail::most_of(fits.scales), widest_least = detail::most_of(fits.leasts);
  block = {};
  if (widest_scale > 0) {
    const f32 by = 15.0f / widest_scale;
    // A negative scale fills the byte's upper bits too, as the reference has it.
    for (int g = 0; g < 16; ++g)
      block.scales[g] = static_cast<std::uint8_t>(nearest_even(by * fits.scales[g]));
    block.scale = half_code(widest_scale / 15.0f);
  }
  if (widest_least > 0) {
    const f32 by = 15.0f / widest_least;
    for (int g = 0; g < 16; ++g)
      block.scales[g] = static_cast<std::uint8_t>(block.scales[g] | nearest_even(by * fits.leasts[g]) << 4);
    block.least = half_code(widest_least / 15.0f);
  }
  std::uint8_t codes[256];
  for (int g = 0; g < 16; ++g)
    detail::code_again<0, 3>(values, detail::half_value(block.scale) * static_cast<f32>(block.scales[g] & 15),
                             detail::half_value(block.least) * static_cast<f32>(block.scales[g] >> 4), fits,
                             g, codes);
  detail::pack_two_bits(codes, block.low);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
