// The search encoder: its block replaces the reference's where its error is smaller.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include <precast/dtype/dtype.hpp>
#include <precast/quant/exact_arithmetic.hpp>
#include <precast/quant/search_lines.hpp>
#include <precast/quant/search_scales.hpp>

namespace precast::quant {

/// A block dtype with a search encoder: `search_block(const f32* values, const f32* weights, Format& block)`
/// stands beside it, or in search_scales.hpp and search_lines.hpp, and writes one block with a small sum of
/// weight * squared error. `block` holds what the reference encoder wrote.
template <class Format>
concept Searchable = requires(const f32* values, const f32* weights, Format& block) {
  { search_block(values, weights, block) } -> std::same_as<void>;
};

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The sum of weight * squared error of one block, from its values as f32 and in their order; infinite or NaN
/// where a scale is beyond f16.
template <BlockDtype Format>
double squared_error(const f32* values, const f32* weights, const Format& block) {
  constexpr int in_block = dtype_traits<Format>::values_per_block;
  f32 decoded[in_block];
  dtype_traits<Format>::decode(block, 0, in_block, decoded);
  double error = 0;
  for (int i = 0; i < in_block; ++i) {
    const double difference = static_cast<double>(decoded[i]) - static_cast<double>(values[i]);
    error += static_cast<double>(weights[i]) * (difference * difference);
  }
  return error;
}

/// The weights of a block times a power of two, the largest in [1, 2): products of two weights and two values
/// stay within f32 then, and nothing else depends on how large all of them are.
template <std::size_t InBlock>
std::array<f32, InBlock> near_one(const f32* weights) {
  const f32 largest = *std::max_element(weights, weights + InBlock);
  const int exponent = largest > 0 ? std::clamp(-std::ilogb(largest), -126, 126) : 0;
  const f32 power = std::ldexp(1.0f, exponent);
  std::array<f32, InBlock> scaled;
  for (std::size_t i = 0; i < InBlock; ++i) scaled[i] = weights[i] * power;
  return scaled;
}

/// Replaces blocks of the reference encoder where the search finds one with a smaller error, or where a
/// block of zeros has one: values that are small beside the steps of an f16 scale may come back larger.
/// `values` are those of the blocks, starting at value `first` of a matrix whose columns have this
/// importance (empty: equal weights).
template <Searchable Format>
void improve(std::span<const f32> values, std::span<const f32> importance, std::size_t first,
             std::span<Format> blocks) {
  constexpr std::size_t in_block = dtype_traits<Format>::values_per_block;
  std::array<f32, in_block> weights;
  weights.fill(1);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const f32* const here = values.data() + b * in_block;
    if (!importance.empty())
      weights = near_one<in_block>(importance.data() + (first + b * in_block) % importance.size());
    const double before = squared_error(here, weights.data(), blocks[b]);
    Format found = blocks[b];
    search_block(here, weights.data(), found);
    const double after = squared_error(here, weights.data(), found);
    const bool is_better = after < before || (before != before && after == after);
    if (is_better) blocks[b] = found;
    const Format zeros{};
    if (const double of_zeros = squared_error(here, weights.data(), zeros);
        of_zeros < (is_better ? after : before))
      blocks[b] = zeros;
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
