// WarpProduct: what one warp multiplies and sums of a tile, by tensor cores or, for strict f32, by fused
// multiply-add.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/matrix.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/warp.hpp>
#include <precast/cuda/matmul/tile_loader.hpp>

namespace precast::cuda {

/// Eight sums of a row, of features that follow each other.
struct EightSums {
  f32 values[8] = {};
};

/// Sums of Rows x 32 products. A lane has eight features, from 8 (lane % 4) on, of every eighth row, from
/// lane / 4 on: in registers while tensor cores sum the layout is their own, and `take_row` turns it into
/// this one.
template <ScalarDtype Operand, int Rows>
class WarpProduct {
 public:
  using Held = HeldDtype<Operand>;
  static constexpr int rows_per_lane = Rows / 8;

  /// Adds the products of a stage. `rows` and `features` are the block's; the warp's begin at the places
  /// given.
  PRECAST_DEVICE void add(SharedPointer<const Held> rows, int first_row, SharedPointer<const Held> features,
                          int first_feature) {
    PRECAST_UNROLL
    for (int step = 0; step < steps; ++step) {
      Fragment<4> a[row_blocks];
      PRECAST_UNROLL
      for (int i = 0; i < row_blocks; ++i) {
        // The four matrices: rows 0-7 and 8-15 of the first chunk, then of the second.
        const int row =
            first_row + 16 * i + planted<"row of a fragment">(lane_index() % 16, lane_index() % 8);
        const int chunk = 2 * step + lane_index() / 16;
        a[i] = load_matrix<4>(rows + chunk_place(row, chunk) * values_per_chunk);
      }
      PRECAST_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        // Features 0-7 of both chunks, then features 8-15.
        const int feature = first_feature + 16 * pair + lane_index() % 8 + lane_index() / 16 * 8;
        const int chunk = 2 * step + planted<"chunk of a fragment">(lane_index() / 8 % 2, lane_index() / 16);
        const auto b = load_matrix<4>(features + chunk_place(feature, chunk) * values_per_chunk);
        PRECAST_UNROLL
        for (int half = 0; half < 2; ++half) {
          const Fragment<2> feature_block{{b.words[2 * half], b.words[2 * half + 1]}};
          PRECAST_UNROLL
          for (int i = 0; i < row_blocks; ++i)
            mma_sync<MultipliedDtype<Operand>>(sums_[i][2 * pair + half], a[i], feature_block);
        }
      }
    }
  }

  /// The lane's sums of row lane / 4, and of the eighth row after it at each further call. All lanes must
  /// call.
  PRECAST_DEVICE EightSums take_row() {
    // A lane has two sums of each of four blocks of eight features. In two steps the four lanes of a row
    // exchange them, so that each has all eight of one block.
    Pair pairs[4];
    PRECAST_UNROLL
    for (int block = 0; block < 4; ++block) {
      pairs[block] = {sums_[0][block].values[0], sums_[0][block].values[1]};
      // Rows move up, because registers have no addresses.
      PRECAST_UNROLL
      for (int i = 0; i < row_blocks; ++i) {
        f32(&sums)[4] = sums_[i][block].values;
        PRECAST_UNROLL
        for (int half = 0; half < 2; ++half) {
          sums[half] = sums[2 + half];
          if (i + 1 < row_blocks) sums[2 + half] = sums_[i + 1][block].values[half];
        }
      }
    }
    exchange<1>(pairs[0], pairs[1]);
    exchange<1>(pairs[2], pairs[3]);
    exchange<2>(pairs[0], pairs[2]);
    exchange<2>(pairs[1], pairs[3]);
    EightSums result;
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
  static constexpr int values_per_chunk = 16 / static_cast<int>(sizeof(Held));
  static constexpr int steps = chunks_per_row / 2;
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

  AccumulatorFragment sums_[row_blocks][4];
};

/// Strict f32: no tensor core multiplies it. Products are added one by one in the order of the columns.
template <int Rows>
class WarpProduct<f32, Rows> {
 public:
  using Held = f32;
  static constexpr int rows_per_lane = Rows / 8;

  PRECAST_DEVICE void add(SharedPointer<const f32> rows, int first_row, SharedPointer<const f32> features,
                          int first_feature) {
    PRECAST_KEEP_LOOP
    for (int chunk = 0; chunk < chunks_per_row; ++chunk) {
      Vector<f32, 4> a[rows_per_lane];
      PRECAST_UNROLL
      for (int i = 0; i < rows_per_lane; ++i)
        a[i] = load_vector<4>(rows + 4 * chunk_place(first_row + lane_index() / 4 + 8 * i, chunk));
      PRECAST_UNROLL
      for (int j = 0; j < 8; ++j) {
        const int feature = first_feature + 8 * (lane_index() % 4) + j;
        const auto b = load_vector<4>(features + 4 * chunk_place(feature, chunk));
        PRECAST_UNROLL
        for (int i = 0; i < rows_per_lane; ++i) {
          PRECAST_UNROLL
          for (int k = 0; k < 4; ++k)
            sums_[i].values[j] = multiply_then_add(a[i][k], b[k], sums_[i].values[j]);
        }
      }
    }
  }

  PRECAST_DEVICE EightSums take_row() {
    const EightSums first = sums_[0];
    PRECAST_UNROLL
    for (int i = 0; i + 1 < rows_per_lane; ++i) sums_[i] = sums_[i + 1];
    return first;
  }

 private:
  EightSums sums_[rows_per_lane];
};

}  // namespace precast::cuda
