// WarpProduct: the products and sums of one warp's part of a tile, by tensor cores or, for strict f32, by
// fused multiply-add.
#pragma once

#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/fma_products.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>

namespace precast::gpu {

/// Eight sums of a row, of adjacent features.
struct EightAccumulators {
  f32 values[8] = {};
};

/// Sums of Rows x 32 products. A lane has eight features, from 8 (lane % 4) on, of every eighth row, from
/// lane / 4 on. During the sums, registers have the layout of tensor cores; `take_row` converts it to this
/// one.
template <ScalarDtype Operand, int Rows>
class WarpProduct {
 public:
  static constexpr int rows_per_lane = Rows / 8;

  WarpProduct() = default;
  /// Takes over sums of 16 rows.
  explicit PRECAST_DEVICE WarpProduct(const AccumulatorFragment (&sums)[MatmulTile::features_per_warp / 8]) {
    static_assert(Rows == 16, "WarpProduct: one row of fragments.");
    PRECAST_UNROLL
    for (int j = 0; j < MatmulTile::features_per_warp / 8; ++j) sums_.tiles[0][j] = sums[j];
  }

  /// Adds the products of a stage: of the rows of both tiles, from first_row and first_feature on.
  template <class RowTile, class FeatureTile>
  PRECAST_DEVICE void add(RowTile rows, int first_row, FeatureTile features, int first_feature) {
    add_product_transposed<Operand>(sums_, LeftRows(rows, first_row), features, first_feature);
  }

  /// The lane's sums of row lane / 4; each further call gives those of the row eight further on. All lanes
  /// must call.
  PRECAST_DEVICE EightAccumulators take_row() {
    // A lane has two sums of each of four blocks of eight features. In two steps the four lanes of a row
    // exchange them, so that each has all eight of one block.
    Pair pairs[4];
    PRECAST_UNROLL
    for (int block = 0; block < 4; ++block) {
      pairs[block] = {sums_.tiles[0][block].values[0], sums_.tiles[0][block].values[1]};
      // Rows move up by one, because registers cannot be indexed at run time.
      PRECAST_UNROLL
      for (int i = 0; i < row_blocks; ++i) {
        f32(&sums)[4] = sums_.tiles[i][block].values;
        PRECAST_UNROLL
        for (int half = 0; half < 2; ++half) {
          sums[half] = sums[2 + half];
          if (i + 1 < row_blocks) sums[2 + half] = sums_.tiles[i + 1][block].values[half];
        }
      }
    }
    exchange<1>(pairs[0], pairs[1]);
    exchange<1>(pairs[2], pairs[3]);
    exchange<2>(pairs[0], pairs[2]);
    exchange<2>(pairs[1], pairs[3]);
    EightAccumulators result;
    PRECAST_UNROLL
    for (int k = 0; k < 4; ++k) {
      result.values[2 * k] = pairs[k].first;
      result.values[2 * k + 1] = pairs[k].second;
    }
    return result;
  }

 private:
  struct Pair {
    f32 first, second;
  };
  static constexpr int row_blocks = Rows / 16;

  /// Lanes without the bit keep `low` and receive the other lane's `low` for `high`; lanes with it the other
  /// way round.
  template <int Bit>
  PRECAST_DEVICE static void exchange(Pair& low, Pair& high) {
    const bool bit = (lane_index() & Bit) != 0, upper = planted<"half of a pair">(bit, !bit);
    const Pair sent = upper ? low : high;
    const Pair received{shuffle_xor(sent.first, Bit), shuffle_xor(sent.second, Bit)};
    if (upper)
      low = received;
    else
      high = received;
  }

  TensorCoreAccumulator<Rows, MatmulTile::features_per_warp> sums_{};
};

/// Strict f32, which no tensor core multiplies. Products are added one by one in the order of the columns.
template <int Rows>
class WarpProduct<f32, Rows> {
 public:
  static constexpr int rows_per_lane = Rows / 8;

  template <class RowTile, class FeatureTile>
  PRECAST_DEVICE void add(RowTile rows, int first_row, FeatureTile features, int first_feature) {
    PRECAST_KEEP_LOOP
    for (int index = 0; index < RowTile::chunks_per_row; ++index)
      add_product_transposed<f32>(sums_, index, rows, first_row, features, first_feature);
  }

  PRECAST_DEVICE EightAccumulators take_row() {
    EightAccumulators first;
    PRECAST_UNROLL
    for (int j = 0; j < 8; ++j) {
      first.values[j] = sums_.at(0, j);
      PRECAST_UNROLL
      for (int i = 0; i + 1 < rows_per_lane; ++i) sums_.at(i, j) = sums_.at(i + 1, j);
    }
    return first;
  }

 private:
  FmaAccumulator<Rows, MatmulTile::features_per_warp, 8, 4> sums_;
};

}  // namespace precast::gpu
