// Steps of the online softmax on weighted sums of values: rescaling from one tile of keys to the next,
// division and store at the end, and the store of the logarithms of sums that a gradient needs.
#pragma once

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>

namespace precast::gpu::detail {

/// Multiplies each of a lane's rows by its factor.
template <class Results, int Rows>
PRECAST_DEVICE void rescale_results(Results& results, const f32 (&factors)[Rows]) {
  PRECAST_UNROLL
  for (int i = 0; i < Rows; ++i) {
    PRECAST_UNROLL
    for (int j = 0; j < Results::columns; ++j) results.at(i, j) *= factors[i];
  }
}

/// Divides a lane's rows by the sums of their weights, which `row_lanes` lanes hold together, times `factor`,
/// and stores those of queries before `end`.
template <bool Saturates, int RowLanes, class Results, int Rows, class Result>
PRECAST_DEVICE void store_results(Results& results, const OnlineSoftmax<Rows>& softmax, f32 factor,
                                  const AttentionShape& shape, const Heads<Result>& out, int batch, int head,
                                  int first_query, int end) {
  PRECAST_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const f32 of_row = softmax.template inverse<RowLanes>(i, shape.masks) * factor;
    const int query = first_query + Results::row(i);
    if (query < end)
      store_sums<Saturates>(results, i, of_row, out.first(batch, head) + query * out.stride, shape.width_v,
                            out.aligned);
  }
}

/// Stores the logarithms of the sums of e^score of a lane's rows, for queries before `end`, where `scale`
/// is left to the exponents of Scores (scale_left). Does nothing where `log_sums` is null.
template <class Scores, int Rows>
PRECAST_DEVICE void store_log_sums(const OnlineSoftmax<Rows>& softmax, f32 scale, const AttentionShape& shape,
                                   GlobalPointer<f32> log_sums, int batch, int head, int first_query,
                                   int end) {
  if (!log_sums) return;
  PRECAST_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const f32 log_sum = softmax.template log_sum<Scores::row_lanes>(i, scale);
    const int query = first_query + Scores::row(i);
    if (query < planted<"log sums past the end">(end, end + 1) && lane_index() % Scores::row_lanes == 0)
      log_sums[shape.row_of_scores(batch, head, query)] = log_sum;
  }
}

}  // namespace precast::gpu::detail
