// The steps on scores between their product and the softmax.
#pragma once

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/device/math.hpp>

namespace precast::gpu::detail {

/// The factor that finish_scores leaves to the exponent: the scale, or 1 where a bias follows it, where a
/// negative scale reverses the order of scores, or where a scale of 0 would make masked scores NaN.
template <bool Biased>
PRECAST_DEVICE f32 scale_left(const AttentionShape& shape) {
  return Biased || shape.scale <= 0 ? 1.0f : shape.scale;
}

/// Scales a lane's scores where scale_left does not, adds the bias and applies the causal mask; returns the
/// scale that is left for exponents to base 2.
template <bool Biased, class Scores>
PRECAST_DEVICE f32 finish_scores(Scores& scores, const AttentionShape& shape, int head, int first_query,
                                 int key, bool some_are_masked) {
  const bool now = Biased || shape.scale <= 0;
  if (!now && !some_are_masked) return shape.scale * log2_of_e;
  PRECAST_UNROLL
  for (int i = 0; i < Scores::rows; ++i) {
    const int query = first_query + Scores::row(i);
    const int seen =
        query < shape.queries ? shape.keys_seen_by(planted<"causal edge">(query, query + 1)) - key : 0;
    PRECAST_UNROLL
    for (int j = 0; j < Scores::columns; ++j) {
      const int column = Scores::column(j);
      f32& score = scores.at(i, j);
      if (column >= seen)
        score = OnlineSoftmax<1>::none;
      else if (now)
        score =
            multiply_then_add(score, shape.scale, Biased ? shape.bias_row(head, query)[key + column] : 0.0f);
    }
  }
  return now ? log2_of_e : shape.scale * log2_of_e;
}

}  // namespace precast::gpu::detail
