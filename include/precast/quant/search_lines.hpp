// The search encoder of formats whose groups have a scale and a least value: q5_1 q4_1, and q5_k q4_k q2_k.
#pragma once

#if defined(__NVCC__) && defined(__CUDACC__)
#error \
    "precast/quant: encoders compute on the vectors of g++ and clang++, which nvcc does not compile: encode in a .cpp file."
#endif

#include <cmath>
#include <cstdint>

#include <precast/quant/k_blocks.hpp>
#include <precast/quant/rounded_blocks.hpp>
#include <precast/quant/search_trials.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// value = scale * integer + shift.
struct Line {
  f32 scale, shift;
};

/// Weighted sums that are the same for all trials.
struct GroupSums {
  f32 weights = 0, values = 0;
};
template <int count>
GroupSums sums_of(const f32* values, const f32* weights) {
  GroupSums sums;
  for (int i = 0; i < count; ++i) {
    sums.weights += weights[i];
    sums.values += weights[i] * values[i];
  }
  return sums;
}

/// The line of the least error: 16 scales about the one that reaches from the least value to the largest,
/// with the least value at 0 or a little above; twice each line is replaced by the one that is best for its
/// integers. `below_zero`: shift is never positive.
template <int most, int count, class Stored, bool below_zero>
Line best_line(const f32* values, const f32* weights) {
  using F = Tries;
  using Grid = IntegerGrid<0, most>;
  const GroupSums group = sums_of<count>(values, weights);
  f32 least = values[0], largest = values[0];
  for (int i = 1; i < count; ++i) {
    if (values[i] < least) least = values[i];
    if (values[i] > largest) largest = values[i];
  }
  if (below_zero && least > 0) least = 0;
  if (below_zero && largest < 0) largest = 0;
  if (largest == least) return {0, least};
  alignas(64) f32 scales[tries], shifts[tries];
  for (int t = 0; t < tries; ++t) {
    const f32 beyond = 0.4f * static_cast<f32>(t % 8 - 3);
    scales[t] = (largest - least) / (static_cast<f32>(most) + beyond);
    // Half of what is cut off is cut off at each end; in every second one all at the upper end.
    shifts[t] = t < 8 ? least : least + 0.5f * beyond * scales[t];
    if (below_zero && shifts[t] > 0) shifts[t] = 0;
  }
  Found<2> found;
  for (int first = 0; first < tries; first += lanes_of<F>) {
    F scale = Stored::stored(load<F>(scales + first)), shift = Stored::stored(load<F>(shifts + first));
    for (int round = 0;; ++round) {
      const auto sums = try_line<Grid, count>(values, weights, scale, shift);
      found.offer(sums.error, {scale, shift});
      if (round == 2) break;
      const F determinant = group.weights * sums.squares - sums.numbers * sums.numbers;
      const auto solved = determinant > 0;
      scale = Stored::stored(
          solved ? (group.weights * sums.products - sums.numbers * group.values) / determinant : scale);
      // The shift for the scale as it is stored.
      shift = solved ? (group.values - scale * sums.numbers) / group.weights : shift;
      if constexpr (below_zero) {
        const auto above = shift > 0;
        shift = above ? F{} : shift;
        scale = (above & (sums.squares > 0)) ? Stored::stored(sums.products / sums.squares) : scale;
      }
      shift = Stored::stored(shift);
    }
  }
  return {found.number[0], found.number[1]};
}

template <int bits, class Block>
void search_from_least(const f32* values, const f32* weights, Block& block) {
  constexpr int most = (1 << bits) - 1;
  const Line line = best_line<most, 32, AsHalf, false>(values, weights);
  block.scale = half_code(line.scale);
  block.least = half_code(line.shift);
  const f32 by = reciprocal(half_value(block.scale)), least = half_value(block.least);
  IntegersOf<Lanes32> integers[vectors_of_32];
  for (int v = 0; v < vectors_of_32; ++v)
    integers[v] = __builtin_convertvector(
        (IntegerGrid<0, most>::nearest((load<Lanes32>(values + v * lanes_of<Lanes32>) - least) * by)),
        IntegersOf<Lanes32>);
  put_integers<bits>(integers, block);
}

/// The two f16 of a block and the integers of its groups, which q5_k, q4_k and q2_k share.
template <int groups>
struct GroupLines {
  f32 scale, least;
  int scales[groups], leasts[groups];
};

/// Both, of the least error together: from the line that is best for each group alone follow 16 pairs of a
/// scale and a least value of the block, the reference's among them. For each pair a group takes the best of
/// nine pairs of integers, and then pairs are replaced by those that are best for integers and codes.
template <class Block, int integer_most>
GroupLines<KFacts<Block>::groups> best_group_lines(const f32* values, const f32* weights,
                                                   const Block& reference) {
  using F = Tries;
  constexpr int groups = KFacts<Block>::groups, count = 256 / groups, rounds = 2;
  using Grid = IntegerGrid<0, KFacts<Block>::most>;
  using Integers = IntegerGrid<0, integer_most>;
  Line alone[groups];
  GroupSums sums_alone[groups];
  f32 widest_scale = 0, widest_least = 0;
  for (int g = 0; g < groups; ++g) {
    alone[g] = best_line<KFacts<Block>::most, count, AsItIs, true>(values + g * count, weights + g * count);
    sums_alone[g] = sums_of<count>(values + g * count, weights + g * count);
    if (alone[g].scale > widest_scale) widest_scale = alone[g].scale;
    if (-alone[g].shift > widest_least) widest_least = -alone[g].shift;
  }

  struct Refit {
    F error = {}, scale, least;
  };
  const auto assign = [&](F scale, F least, F* scales, F* leasts, bool for_refit) {
    F error = {}, aa = {}, ab = {}, bb = {}, ax = {}, bx = {};
    const F by_scale = reciprocals(scale), by_least = reciprocals(least);
    for (int g = 0; g < groups; ++g) {
      const F middle_scale = Integers::nearest(alone[g].scale * by_scale);
      const F middle_least = Integers::nearest(-alone[g].shift * by_least);
      const f32 *const in = values + g * count, *const by = weights + g * count;
      F best_error = every<F>(HUGE_VALF);
      scales[g] = middle_scale, leasts[g] = middle_least;
      for (int off_scale = -1; off_scale <= 1; ++off_scale)
        for (int off_least = -1; off_least <= 1; ++off_least) {
          const F a = Integers::nearest(middle_scale + static_cast<f32>(off_scale));
          const F b = Integers::nearest(middle_least + static_cast<f32>(off_least));
          const F this_error = try_line<Grid, count, false>(in, by, scale * a, -(least * b)).error;
          const auto better = this_error < best_error;
          best_error = better ? this_error : best_error;
          scales[g] = better ? a : scales[g];
          leasts[g] = better ? b : leasts[g];
        }
      error += best_error;
      if (!for_refit) continue;
      const auto best = try_line<Grid, count>(in, by, scale * scales[g], -(least * leasts[g]));
      // value = scale * a - least * b, with a = integer * code and b the other integer.
      const F a = scales[g], b = leasts[g];
      aa += a * a * best.squares;
      ab += a * b * best.numbers;
      bb += b * b * sums_alone[g].weights;
      ax += a * best.products;
      bx += b * sums_alone[g].values;
    }
    const F determinant = aa * bb - ab * ab;
    Refit refit{error, scale, least};
    refit.scale = AsHalf::stored(determinant > 0 ? (ax * bb - ab * bx) / determinant
                                 : aa > 0        ? ax / aa
                                                 : scale);
    refit.least = AsHalf::stored(bb > 0 ? (ab * refit.scale - bx) / bb : least);
    return refit;
  };

  alignas(64) f32 scales[tries], leasts[tries];
  for (int t = 0; t < tries; ++t) {
    const int of_scale = t % 4, of_least = t / 4;
    scales[t] = widest_scale / (static_cast<f32>(integer_most) - 0.5f * static_cast<f32>(of_scale));
    leasts[t] = widest_least / (static_cast<f32>(integer_most) - 0.5f * static_cast<f32>(of_least));
  }
  scales[tries - 1] = half_value(reference.scale), leasts[tries - 1] = half_value(reference.least);
  Found<2> found;
  F group_scales[groups], group_leasts[groups];
  for (int first = 0; first < tries; first += lanes_of<F>) {
    F scale = AsHalf::stored(load<F>(scales + first)), least = AsHalf::stored(load<F>(leasts + first));
    for (int round = 0;; ++round) {
      const Refit refit = assign(scale, least, group_scales, group_leasts, round < rounds);
      found.offer(refit.error, {scale, least});
      if (round == rounds) break;
      scale = refit.scale, least = refit.least;
    }
  }
  assign(every<F>(found.number[0]), every<F>(found.number[1]), group_scales, group_leasts, false);
  GroupLines<groups> result{found.number[0], found.number[1], {}, {}};
  for (int g = 0; g < groups; ++g) {
    result.scales[g] = static_cast<int>(group_scales[g][0]);
    result.leasts[g] = static_cast<int>(group_leasts[g][0]);
  }
  return result;
}

}  // namespace detail

/// Encodes values_per_block values, with a weight for each one's squared error; `block` holds what the
/// reference made of them. The caller keeps the better one.
inline void search_block(const f32* values, const f32* weights, q5_1& block) {
  detail::search_from_least<5>(values, weights, block);
}
inline void search_block(const f32* values, const f32* weights, q4_1& block) {
  detail::search_from_least<4>(values, weights, block);
}
template <class Block>
  requires(detail::KFacts<Block>::groups == 8)
void search_block(const f32* values, const f32* weights, Block& block) {
  const auto best = detail::best_group_lines<Block, 63>(values, weights, block);
  block.scale = half_code(best.scale);
  block.least = half_code(best.least);
  detail::put_six_bits(best.scales, best.leasts, block.scales);
  detail::code_by_lines(values, block, detail::zeros<256 / detail::KFacts<Block>::groups>);
}
inline void search_block(const f32* values, const f32* weights, q2_k& block) {
  const auto best = detail::best_group_lines<q2_k, 15>(values, weights, block);
  block.scale = half_code(best.scale);
  block.least = half_code(best.least);
  for (int g = 0; g < 16; ++g)
    block.scales[g] = static_cast<std::uint8_t>(best.scales[g] | best.leasts[g] << 4);
  detail::code_by_lines(values, block, detail::zeros<256 / detail::KFacts<q2_k>::groups>);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
