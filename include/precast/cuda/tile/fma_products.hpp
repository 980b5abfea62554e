// Products of tiles in shared memory by fused multiply-adds, by one warp: strict f32 operands, and sums in a
// dtype narrower than f32.
#pragma once

#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>

namespace precast::gpu {

/// A warp's Rows x Columns matrix of sums. RowLanes lanes share a row, and take turns in its runs of Run
/// columns.
template <int Rows, int Columns, int Run, int RowLanes>
struct FmaAccumulator {
  static_assert(Columns % (RowLanes * Run) == 0 && Rows % (threads_per_warp / RowLanes) == 0,
                "FmaAccumulator: every lane has as many sums.");
  static constexpr int row_groups = threads_per_warp / RowLanes;
  static constexpr int rows = Rows / row_groups, columns = Columns / RowLanes, row_lanes = RowLanes,
                       run = Run;
  f32 values[rows][columns] = {};

  PRECAST_DEVICE f32& at(int i, int j) { return values[i][j]; }
  static PRECAST_DEVICE int row(int i) { return row_groups * i + lane_index() / RowLanes; }
  static PRECAST_DEVICE int column(int j) {
    return Run * (RowLanes * (j / Run) + lane_index() % RowLanes) + j % Run;
  }
};

/// Adds a term to a sum that is kept as Accumulate.
template <class Accumulate>
PRECAST_DEVICE void add_term(f32& sum, f32 a, f32 b) {
  const f32 wide = multiply_then_add(a, b, sum);
  if constexpr (std::is_same_v<Accumulate, f32>)
    sum = wide;
  else
    sum = planted<"accumulate ignored">(rounded<Accumulate>(wide), wide);
}

/// sums += left right^T over chunk `index` of the depth, for the rows of `left` from first_row on and those
/// of `right` from first_column on.
template <class Accumulate, int Rows, int Columns, int Run, int RowLanes, class Left, class Right>
PRECAST_DEVICE void add_product_transposed(FmaAccumulator<Rows, Columns, Run, RowLanes>& sums, int index,
                                           Left left, int first_row, Right right, int first_column) {
  using Accumulator = FmaAccumulator<Rows, Columns, Run, RowLanes>;
  Vector<f32, 4> a[Accumulator::rows];
  PRECAST_UNROLL
  for (int i = 0; i < Accumulator::rows; ++i)
    a[i] = load_vector<4>(left.at_chunk(first_row + Accumulator::row(i), index));
  PRECAST_UNROLL
  for (int j = 0; j < Accumulator::columns; ++j) {
    const auto b = load_vector<4>(right.at_chunk(first_column + Accumulator::column(j), index));
    PRECAST_UNROLL
    for (int i = 0; i < Accumulator::rows; ++i) {
      PRECAST_UNROLL
      for (int d = 0; d < 4; ++d) add_term<Accumulate>(sums.values[i][j], a[i][d], b[d]);
    }
  }
}

/// sums += left right, where the depth of `left` is the rows of `right`. `left(i, j, k)` is the value in
/// the lane's row i and column 8 j + k.
template <class Accumulate, int Rows, int Columns, class Left, class Tile>
PRECAST_DEVICE void add_product(FmaAccumulator<Rows, Columns, 4, 8>& sums, const Left& left, Tile right) {
  using Accumulator = FmaAccumulator<Rows, Columns, 4, 8>;
  PRECAST_UNROLL
  for (int j = 0; j < Tile::rows / 8; ++j)
    for (int k = 0; k < 8; ++k) {
      f32 a[Accumulator::rows];
      PRECAST_UNROLL
      for (int i = 0; i < Accumulator::rows; ++i) a[i] = left(i, j, k);
      PRECAST_UNROLL
      for (int c = 0; c < Columns / 32; ++c) {
        const auto b = load_vector<4>(right.at_chunk(8 * j + k, 8 * c + lane_index() % 8));
        PRECAST_UNROLL
        for (int i = 0; i < Accumulator::rows; ++i) {
          PRECAST_UNROLL
          for (int d = 0; d < 4; ++d) add_term<Accumulate>(sums.values[i][4 * c + d], a[i], b[d]);
        }
      }
    }
}

}  // namespace precast::gpu
