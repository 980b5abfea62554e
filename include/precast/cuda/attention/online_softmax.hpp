// The online softmax (Milakov and Gimelshein 2018) of rows that the lanes of a warp hold together.
#pragma once

#include <limits>

#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/problem/math.hpp>

namespace precast::gpu::detail {

/// Whether the largest score times scale is too large to be subtracted in exponents. An exponent has the
/// unrounded product of score and scale. For a large score, this differs from the largest score's rounded
/// product by more than 2^x tolerates, and near the end of f32's range it is infinite. Nor may weights be
/// much more than 1: in parts of f16 there is no room for 2 (sums_in_parts.hpp).
PRECAST_DEVICE bool is_large_exponent(f32 scaled) {
  constexpr f32 large = 0x1p23f;  // below it a product is off by a quarter at the most
  return !(scaled <= large && scaled >= -large);
}

/// The score that a row's exponents are relative to: the largest, or 0 where that is -inf.
PRECAST_DEVICE f32 base_of_scores(f32 largest) { return largest == -infinity ? 0.0f : largest; }

/// The value to subtract from row i's scores times scale, for exponents relative to `base`, the largest
/// score: the product of both, or 0 where that is large and `base` has been subtracted from the scores.
template <class Scores>
PRECAST_DEVICE f32 base_of_exponents(Scores& scores, int i, f32 scale, f32 base) {
  const f32 scaled = math::rounded_product(base, scale);
  if (!is_large_exponent(scaled)) return scaled;
  PRECAST_UNROLL
  for (int j = 0; j < Scores::columns; ++j) scores.at(i, j) -= base;
  return 0.0f;
}

/// The factor for weights that were relative to `was` and are to be relative to `base`. As in
/// base_of_exponents, the product of a large one is not rounded.
PRECAST_DEVICE f32 correction_of_weights(f32 was, f32 base, f32 scale) {
  const f32 scaled_was = math::rounded_product(was, scale), scaled = math::rounded_product(base, scale);
  const bool was_large = is_large_exponent(scaled_was), large = is_large_exponent(scaled);
  f32 exponent = scaled_was - scaled;
  if (was_large && large)
    exponent = (was - base) * scale;
  else if (was_large)
    exponent = multiply_then_add(was, scale, -scaled);
  else if (large)
    exponent = -multiply_then_add(base, scale, -scaled_was);
  return power_of_two_fast(exponent);
}

/// Running maxima and sums of a lane's rows. Exponents are to base 2, of scores times a scale above 0,
/// which is the same for all. A NaN score is ignored by the maximum, and stays in the sum.
template <int Rows>
struct OnlineSoftmax {
  static constexpr f32 none = -std::numeric_limits<f32>::infinity();
  f32 maxima[Rows], sums[Rows];

  PRECAST_DEVICE OnlineSoftmax() {
    PRECAST_UNROLL
    for (int i = 0; i < Rows; ++i) maxima[i] = none, sums[i] = 0;
  }

  /// Replaces scores by weights 2^(scale score - running maximum), and sets `factors` to the corrections
  /// that earlier sums are rescaled by. Sums are a lane's own until the end.
  template <class Scores>
  PRECAST_DEVICE void update(Scores& scores, f32 scale, f32 (&factors)[Rows]) {
    PRECAST_UNROLL
    for (int i = 0; i < Rows; ++i) {
      f32 best = none;
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) best = maximum(best, scores.at(i, j));
      const f32 now = maximum(maxima[i], warp_max<Scores::row_lanes>(best));
      const f32 base = base_of_scores(now);
      factors[i] = planted<"softmax rescaling">(correction_of_weights(maxima[i], base, scale), 1.0f);
      maxima[i] = now;
      const f32 left = base_of_exponents(scores, i, scale, base);
      f32 sum = 0;
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) {
        scores.at(i, j) = power_of_two_fast(multiply_then_add(scores.at(i, j), scale, -left));
        sum += scores.at(i, j);
      }
      sums[i] = multiply_then_add(sums[i], factors[i], sum);
    }
  }

  /// The final factor of row i's weighted values. Without a mask, a sum of 0 means that all scores are
  /// -inf: the result is NaN, as softmax has it.
  template <int RowLanes>
  PRECAST_DEVICE f32 inverse(int i, bool masked) const {
    const f32 sum = warp_sum<RowLanes>(sums[i]);
    return sum == 0 && masked ? 0.0f : reciprocal_fast(sum);
  }

  /// The logarithm to base e of the sum of e^(scale score) of row i, where exponents had scale log2_of_e:
  /// the largest score's rounded product, plus the logarithm of the sum of weights relative to it.
  template <int RowLanes>
  PRECAST_DEVICE f32 log_sum(int i, f32 scale) const {
    const f32 largest = base_of_scores(maxima[i]), exponents = scale * log2_of_e;
    const f32 taken = math::rounded_product(largest, exponents);
    // The largest score's weight is not 1, but 2 to the power of the rounding error of its product.
    const f32 rest = is_large_exponent(taken) ? 0.0f : multiply_then_add(largest, exponents, -taken);
    return planted<"largest not in log sum">(math::rounded_product(largest, scale), 0.0f) +
           (logf(warp_sum<RowLanes>(sums[i])) - rest * log_of_2);
  }

  /// For lanes that went through a row's scores separately: agrees on the largest score, which their sums
  /// are relative to from then on.
  template <int RowLanes>
  PRECAST_DEVICE void agree(f32 scale) {
    PRECAST_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const f32 largest = warp_max<RowLanes>(maxima[i]);
      sums[i] *= correction_of_weights(maxima[i], base_of_scores(largest), scale);
      maxima[i] = largest;
    }
  }
};

}  // namespace precast::gpu::detail
