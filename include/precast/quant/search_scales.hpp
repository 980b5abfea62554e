// The search encoder of formats whose groups have a scale alone: q8_0 q5_0 q4_0 iq4_nl mxfp8 mxfp6 mxfp4
// nvfp4, and of those K-quants that have one, q6_k q3_k iq4_xs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <precast/quant/k_blocks.hpp>
#include <precast/quant/lookup_blocks.hpp>
#include <precast/quant/rounded_blocks.hpp>
#include <precast/quant/search_trials.hpp>
#include <precast/quant/small_float_blocks.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// How often a scale is replaced by the one that is best for its codes.
inline constexpr int replacements = 2;

/// The scale of the least error: the extreme value goes near either end of the grid, and each scale is then
/// replaced.
template <class Grid, int count, class Stored>
f32 best_scale(const f32* values, const f32* weights) {
  const f32 largest = extreme_in_lanes<count>(values);
  if (largest == 0) return 0;
  alignas(64) f32 scales[tries];
  for (int t = 0; t < tries / 2; ++t) {
    const f32 beyond = Grid::step * 0.35f * static_cast<f32>(t - 3);
    scales[t] = largest / (Grid::low - beyond);
    scales[t + tries / 2] = largest / (Grid::high + beyond);
  }
  Found<1> found;
  for (int first = 0; first < tries; first += lanes_of<Tries>) {
    Tries scale = Stored::stored(load<Tries>(scales + first));
    for (int round = 0;; ++round) {
      const auto sums = try_scale<Grid, count>(values, weights, scale);
      found.offer(sums.error, {scale});
      if (round == replacements) break;
      scale = Stored::stored(sums.squares > 0 ? sums.products / sums.squares : scale);
    }
  }
  return found.number[0];
}

/// An f16 of a block and the integers of its groups, which q6_k, q3_k and iq4_xs share.
template <int groups>
struct GroupScales {
  f32 scale;
  int integers[groups];
};

/// A block's scale and its groups' integers in [least, most] with the least error together. The best scales
/// of single groups give 16 candidates for the block; for each of them a group takes the best of three
/// integers, and twice the scale is refitted to integers and codes.
template <class Grid, int groups, int least, int most>
GroupScales<groups> best_group_scales(const f32* values, const f32* weights) {
  constexpr int count = 256 / groups;
  f32 alone[groups];
  for (int g = 0; g < groups; ++g)
    alone[g] = best_scale<Grid, count, AsItIs>(values + g * count, weights + g * count);
  const f32 widest = extreme<groups>(alone);
  if (widest == 0) return {};

  const auto assign = [&]<class F>(F scale, F* integers, bool for_refit) {
    TrialSums<F> total;
    const F by = reciprocals(scale);
    for (int g = 0; g < groups; ++g) {
      const F middle = IntegerGrid<least, most>::nearest(alone[g] * by);
      const f32 *const in = values + g * count, *const with = weights + g * count;
      F best_error = every<F>(HUGE_VALF);
      integers[g] = middle;
      for (int off = -1; off <= 1; ++off) {
        const F integer = IntegerGrid<least, most>::nearest(middle + static_cast<f32>(off));
        const F error = try_scale<Grid, count, false>(in, with, scale * integer).error;
        const auto better = error < best_error;
        best_error = better ? error : best_error;
        integers[g] = better ? integer : integers[g];
      }
      total.error += best_error;
      if (!for_refit) continue;
      const auto best = try_scale<Grid, count>(in, with, scale * integers[g]);
      total.products += integers[g] * best.products;
      total.squares += integers[g] * integers[g] * best.squares;
    }
    return total;
  };

  alignas(64) f32 scales[tries];
  for (int t = 0; t < tries / 2; ++t) {
    scales[t] = widest / (static_cast<f32>(least) + 0.5f * static_cast<f32>(t));
    scales[t + tries / 2] = widest / (static_cast<f32>(most) - 0.5f * static_cast<f32>(t));
  }
  Found<1> found;
  Tries integers[groups];
  for (int first = 0; first < tries; first += lanes_of<Tries>) {
    Tries scale = AsHalf::stored(load<Tries>(scales + first));
    for (int round = 0;; ++round) {
      const auto sums = assign(scale, integers, round < replacements);
      found.offer(sums.error, {scale});
      if (round == replacements) break;
      scale = AsHalf::stored(sums.squares > 0 ? sums.products / sums.squares : scale);
    }
  }
  assign(every<Tries>(found.number[0]), integers, false);
  GroupScales<groups> result{found.number[0], {}};
  for (int g = 0; g < groups; ++g) result.integers[g] = static_cast<int>(integers[g][0]);
  return result;
}

/// The integers of a block by its `scale` as it is stored.
template <int least, int most>
[[gnu::always_inline]] inline void code_by_stored(const f32* values, f32 scale,
                                                  IntegersOf<Lanes32> (&integers)[vectors_of_32]) {
  for (int v = 0; v < vectors_of_32; ++v)
    integers[v] =
        __builtin_convertvector((IntegerGrid<least, most>::nearest(
                                    load<Lanes32>(values + v * lanes_of<Lanes32>) * reciprocal(scale))),
                                IntegersOf<Lanes32>);
}

template <int bits, class Block>
void search_around_zero(const f32* values, const f32* weights, Block& block) {
  constexpr int middle = 1 << (bits - 1);
  block.scale = half_code(best_scale<IntegerGrid<-middle, middle - 1>, 32, AsHalf>(values, weights));
  IntegersOf<Lanes32> integers[vectors_of_32];
  code_by_stored<-middle, middle - 1>(values, half_value(block.scale), integers);
  for (auto& these : integers) these += middle;
  put_integers<bits>(integers, block);
}

/// The exponent of the best of four powers of two, from `first` on.
template <class Grid>
int best_power(const f32* values, const f32* weights, int first) {
  Floats<4> scales, powers;
  for (int p = 0; p < 4; ++p) {
    scales[p] = static_cast<f32>(power_of_two(first + p));
    powers[p] = static_cast<f32>(first + p);
  }
  Found<1> found;
  found.number[0] = powers[2];
  found.offer(try_scale<Grid, 32>(values, weights, scales).error, {powers});
  return static_cast<int>(found.number[0]);
}

}  // namespace detail

/// Encodes values_per_block values, with a weight for each one's squared error. The caller compares with the
/// reference's block and keeps the better one.
inline void search_block(const f32* values, const f32* weights, q8_0& block) {
  using namespace detail;
  block.scale = half_code(best_scale<IntegerGrid<-127, 127>, 32, AsHalf>(values, weights));
  IntegersOf<Lanes32> integers[vectors_of_32];
  code_by_stored<-127, 127>(values, half_value(block.scale), integers);
  for (int v = 0; v < vectors_of_32; ++v) store_bytes(integers[v], block.integers + v * lanes_of<Lanes32>);
}
inline void search_block(const f32* values, const f32* weights, q5_0& block) {
  detail::search_around_zero<5>(values, weights, block);
}
inline void search_block(const f32* values, const f32* weights, q4_0& block) {
  detail::search_around_zero<4>(values, weights, block);
}
inline void search_block(const f32* values, const f32* weights, iq4_nl& block) {
  block.scale = half_code(detail::best_scale<detail::Iq4Grid, 32, detail::AsHalf>(values, weights));
  detail::code_iq4(values, reciprocal(detail::half_value(block.scale)), block.low);
}

template <precast::detail::Microscaled Block>
void search_block(const f32* values, const f32* weights, Block& block) {
  using Element = precast::detail::element_of<Block>;
  const int power = detail::power_for<Element>(values, -125, 124);
  const int best = detail::best_power<detail::FloatGrid<Element>>(values, weights, power - 2);
  detail::code_over_power(values, best, block);
}
inline void search_block(const f32* values, const f32* weights, mxfp4& block) {
  const int power = detail::power_for<precast::detail::e2m1>(values, -125, 124);
  block.scale =
      static_cast<std::uint8_t>(detail::best_power<detail::E2m1Grid>(values, weights, power - 2) + 127);
  detail::code_e2m1<16>(values, precast::detail::half_e8m0(block.scale), block.low);
}

/// All scales from a little over the one that reaches 4 to less than the one that reaches 8.
inline void search_block(const f32* values, const f32* weights, nvfp4& block) {
  using namespace detail;
  for (int g = 0; g < 4; ++g) {
    const f32* const in = values + 16 * g;
    const int middle = unsigned_e4m3(largest_magnitude<16>(in) / 6.0f);
    alignas(64) f32 scales[tries], codes[tries];
    for (int t = 0; t < tries; ++t) {
      const int code = clamped(middle - 8 + t, 0, 0x7e);
      codes[t] = static_cast<f32>(code);
      scales[t] = 2 * precast::detail::half_unsigned_e4m3(static_cast<std::uint8_t>(code));
    }
    Found<1> found;
    for (int first = 0; first < tries; first += lanes_of<Tries>)
      found.offer(try_scale<E2m1Grid, 16>(in, weights + 16 * g, load<Tries>(scales + first)).error,
                  {load<Tries>(codes + first)});
    block.scales[g] = static_cast<std::uint8_t>(found.number[0]);
    code_e2m1<8>(in, precast::detail::half_unsigned_e4m3(block.scales[g]), block.low + 8 * g);
  }
}

inline void search_block(const f32* values, const f32* weights, q6_k& block) {
  const auto best = detail::best_group_scales<detail::IntegerGrid<-32, 31>, 16, -128, 127>(values, weights);
  block = {};
  block.scale = half_code(best.scale);
  for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<std::int8_t>(best.integers[g]);
  detail::code_by_lines(values, block, detail::zeros<256 / detail::KFacts<q6_k>::groups>);
}
inline void search_block(const f32* values, const f32* weights, q3_k& block) {
  auto best = detail::best_group_scales<detail::IntegerGrid<-4, 3>, 16, -32, 31>(values, weights);
  block = {};
  block.scale = half_code(best.scale);
  for (int& integer : best.integers) integer += 32;
  detail::put_six_bits_of_16(best.integers, block.scales);
  detail::code_by_lines(values, block, detail::zeros<256 / detail::KFacts<q3_k>::groups>);
}
inline void search_block(const f32* values, const f32* weights, iq4_xs& block) {
  const auto best = detail::best_group_scales<detail::Iq4Grid, 8, -32, 31>(values, weights);
  block = {};
  block.scale = half_code(best.scale);
  for (int g = 0; g < 8; ++g) {
    detail::put_group_scale(best.integers[g], g, block);
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(best.integers[g]);
    detail::code_iq4(values + 32 * g, reciprocal(scale), block.low + 16 * g);
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
