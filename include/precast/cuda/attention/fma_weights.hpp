// Attention's scores and weights where products are fused multiply-adds: 16 rows a warp.
#pragma once

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/fma_products.hpp>

namespace precast::gpu::detail {

/// Eight lanes share a row's keys, neighbours side by side: they read eight neighbouring rows of a tile.
template <int Keys>
using FmaScores = FmaAccumulator<16, Keys, 1, 8>;

/// scores += left keys^T, for 16 rows of `left` from first_row on.
template <class Accumulate, int Keys, class Left, class Right>
PRECAST_DEVICE void add_scores(FmaScores<Keys>& scores, Left left, int first_row, Right keys) {
  for (int index = 0; index < Left::chunks_per_row; ++index)
    add_product_transposed<Accumulate>(scores, index, left, first_row, keys, 0);
}

/// The weights that lanes hold as sums of scores, rounded to Operand: each key's is fetched from the lane
/// that has it.
template <class Operand, int Keys>
struct HeldWeights {
  const FmaScores<Keys>& weights;
  PRECAST_DEVICE f32 operator()(int i, int j, int k) const {
    return rounded<Operand>(
        shuffle(weights.values[i][j], lane_index() / 8 * 8 + planted<"lane of a weight">(k, k ^ 1)));
  }
};

/// The weights of 16 rows of a tile in shared memory.
template <int Rows, int Keys>
struct StoredWeights {
  SharedTile<f32, Rows, Keys> tile;
  int first_row;
  PRECAST_DEVICE f32 operator()(int i, int j, int k) const {
    return tile.at(first_row + FmaScores<Keys>::row(i), 8 * j + k);
  }
};

}  // namespace precast::gpu::detail
