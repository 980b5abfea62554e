// Attention's two products by fused multiply-adds, one warp to 16 rows: strict f32 operands, and sums in a
// dtype narrower than f32.
#pragma once

#include <precast/cuda/attention/shared_tile.hpp>
#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/warp.hpp>

namespace precast::cuda::detail {

/// A warp's 16 x Columns matrix of sums, each lane with four rows and every eighth run of Run columns of it;
/// eight lanes share their rows.
template <int Columns, int Run>
struct FmaSums {
  static_assert(Columns % (8 * Run) == 0, "FmaSums: eight lanes share a row.");
  static constexpr int rows = 4, columns = Columns / 8, row_lanes = 8, run = Run;
  f32 values[rows][columns] = {};

  PRECAST_DEVICE f32& at(int i, int j) { return values[i][j]; }
  static PRECAST_DEVICE int row(int i) { return 4 * i + lane_index() / 8; }
  static PRECAST_DEVICE int column(int j) { return Run * (8 * (j / Run) + lane_index() % 8) + j % Run; }
};

/// One more term of a sum that is kept as Accumulate.
template <class Accumulate>
PRECAST_DEVICE void add_product(f32& sum, f32 a, f32 b) {
  sum = rounded<Accumulate>(multiply_then_add(a, b, sum));
}

/// scores += left keys^T, for 16 rows of `left` from first_row on. Lanes of one row group read one address of
/// `left`, and eight neighbouring rows of `keys`.
template <class Accumulate, int Rows, int Keys, int Depth>
PRECAST_DEVICE void add_scores(FmaSums<Keys, 1>& scores, SharedTile<f32, Rows, Depth> left, int first_row,
                               SharedTile<f32, Keys, Depth> keys) {
  using Scores = FmaSums<Keys, 1>;
  for (int index = 0; index < Depth / 4; ++index) {
    Vector<f32, 4> a[Scores::rows], b[Scores::columns];
    PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i)
      a[i] = load_vector<4>(left.at_chunk(first_row + Scores::row(i), index));
    PRECAST_UNROLL
    for (int j = 0; j < Scores::columns; ++j) b[j] = load_vector<4>(keys.at_chunk(Scores::column(j), index));
    PRECAST_UNROLL
    for (int d = 0; d < 4; ++d) PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i) PRECAST_UNROLL
    for (int j = 0; j < Scores::columns; ++j) add_product<Accumulate>(scores.values[i][j], a[i][d], b[j][d]);
  }
}

/// results += weights values. `weight(i, j, k)` is the lane's row i's weight of key 8 j + k.
template <class Accumulate, int Keys, int Columns, class Weight>
PRECAST_DEVICE void add_values(FmaSums<Columns, 4>& results, const Weight& weight,
                               SharedTile<f32, Keys, Columns> values) {
  using Results = FmaSums<Columns, 4>;
  PRECAST_UNROLL
  for (int j = 0; j < Keys / 8; ++j)
    for (int k = 0; k < 8; ++k) {
      f32 a[Results::rows];
      PRECAST_UNROLL
      for (int i = 0; i < Results::rows; ++i) a[i] = weight(i, j, k);
      PRECAST_UNROLL
      for (int c = 0; c < Columns / 32; ++c) {
        const auto b = load_vector<4>(values.at_chunk(8 * j + k, 8 * c + lane_index() % 8));
        PRECAST_UNROLL
        for (int i = 0; i < Results::rows; ++i) PRECAST_UNROLL
        for (int d = 0; d < 4; ++d) add_product<Accumulate>(results.values[i][4 * c + d], a[i], b[d]);
      }
    }
}

/// The weights that lanes hold as sums of scores: each key's is fetched from the lane that has it.
template <int Keys>
struct HeldWeights {
  const FmaSums<Keys, 1>& weights;
  PRECAST_DEVICE f32 operator()(int i, int j, int k) const {
    return shuffle(weights.values[i][j], lane_index() / 8 * 8 + planted<"lane of a weight">(k, k ^ 1));
  }
};

/// The weights of 16 rows of a tile in shared memory.
template <int Rows, int Keys>
struct StoredWeights {
  SharedTile<f32, Rows, Keys> tile;
  int first_row;
  PRECAST_DEVICE f32 operator()(int i, int j, int k) const {
    return tile.at(first_row + FmaSums<Keys, 1>::row(i), 8 * j + k);
  }
};

}  // namespace precast::cuda::detail
