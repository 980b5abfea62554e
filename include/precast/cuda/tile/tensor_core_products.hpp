// Products of tiles in shared memory on tensor cores, by one warp: mma.sync m16n8k16 for 16-bit elements,
// m16n8k8 for tf32.
#pragma once

#include <cstdint>

#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>

namespace precast::gpu {

/// A warp's Rows x Columns matrix of f32 sums. Each lane has `rows` rows and `columns` columns of it, columns
/// in runs of two neighbours; lanes that differ in the bits of row_lanes - 1 share their rows.
template <int Rows, int Columns>
struct TensorCoreAccumulator {
  static_assert(Rows % 16 == 0 && Columns % 16 == 0,
                "TensorCoreAccumulator: whole pairs of 16 x 8 products.");
  static constexpr int rows = Rows / 8, columns = Columns / 4, row_lanes = 4, run = 2;
  AccumulatorFragment tiles[Rows / 16][Columns / 8];

  PRECAST_DEVICE f32& at(int i, int j) { return tiles[i / 2][j / 2].values[2 * (i % 2) + j % 2]; }
  static PRECAST_DEVICE int row(int i) { return 8 * i + lane_index() / 4; }
  static PRECAST_DEVICE int column(int j) { return 8 * (j / 2) + 2 * (lane_index() % 4) + j % 2; }
};

/// The left factor's fragments: rows of a tile in shared memory, a product's depth a step. A matrix of
/// ldmatrix is eight rows of 16 bytes whatever the dtype, so tf32 is loaded like two 16-bit values.
template <class Tile>
struct LeftRows {
  TileReader<Tile> reader;

  PRECAST_DEVICE LeftRows(Tile tile, int first_row)
      : reader(tile, first_row + planted<"row of a fragment">(lane_index() % 16, lane_index() % 8),
               lane_index() / 16) {}
  PRECAST_DEVICE Fragment<4> operator()(int m, int step) const {
    return ldmatrix<4>(reader.at(16 * m, 2 * step));
  }
};

/// Sums as a left factor of further products, straight from the registers that hold them as sums: rounded to
/// Operand. Products in tf32 take a row's columns in the order 0 2 4 6 1 3 5 7, which is how lanes have them;
/// so must the right factor.
template <class Operand, int Rows, int Depth, bool Saturates = false>
struct SumsAsRows {
  const TensorCoreAccumulator<Rows, Depth>& sums;

  PRECAST_DEVICE Fragment<4> operator()(int m, int step) const {
    if constexpr (std::is_same_v<MultipliedDtype<Operand>, tf32>) {
      const f32(&w)[4] = sums.tiles[m][step].values;
      const int second = planted<"order of keys">(2, 1);
      return {{word(w[0]), word(w[second]), word(w[3 - second]), word(w[3])}};
    } else {
      const f32(&near)[4] = sums.tiles[m][2 * step].values;
      const f32(&far)[4] = sums.tiles[m][2 * step + 1].values;
      return {{operand_pair<Operand, Saturates>(near[0], near[1]),
               operand_pair<Operand, Saturates>(near[2], near[3]),
               operand_pair<Operand, Saturates>(far[0], far[1]),
               operand_pair<Operand, Saturates>(far[2], far[3])}};
    }
  }

 private:
  static PRECAST_DEVICE std::uint32_t word(f32 sum) {
    if constexpr (std::is_same_v<Operand, tf32>)
      return tf32_word(sum);
    else
      return bit_cast<std::uint32_t>(operand_value<Operand, Saturates>(sum));
  }
};

/// How many fragments a left factor has for the same rows, whose products are summed: 1, or as many parts as
/// it says (sums_in_parts.hpp).
template <class Left>
inline constexpr int parts_of = [] {
  if constexpr (requires { Left::parts; })
    return Left::parts;
  else
    return 1;
}();

/// The fragments of 16 rows of a left factor, one for each part.
template <class Left, int Parts>
PRECAST_DEVICE void load_fragments(const Left& left, int m, int step, Fragment<4> (&to)[Parts]) {
  if constexpr (Parts > 1)
    left(m, step, to);
  else
    to[0] = left(m, step);
}

/// sums += left right over Steps products' depth, from first_step on. `left(m, step)` are 16 rows,
/// `right(step, pair)` two neighbouring fragments of eight columns each.
template <class Operand, int Steps, int Rows, int Columns, class Left, class Right>
PRECAST_DEVICE void add_products(TensorCoreAccumulator<Rows, Columns>& sums, int first_step, const Left& left,
                                 const Right& right) {
  constexpr int parts = parts_of<Left>;
  PRECAST_UNROLL
  for (int step = first_step; step < first_step + Steps; ++step) {
    Fragment<4> a[Rows / 16][parts];
    PRECAST_UNROLL
    for (int m = 0; m < Rows / 16; ++m) load_fragments(left, m, step, a[m]);
    PRECAST_UNROLL
    for (int pair = 0; pair < Columns / 16; ++pair) {
      const Fragment<4> b = right(step, pair);
      PRECAST_UNROLL
      for (int m = 0; m < Rows / 16; ++m) {
        PRECAST_UNROLL
        for (int part = 0; part < parts; ++part) {
          mma_sync<MultipliedDtype<Operand>>(sums.tiles[m][2 * pair], a[m][part], {{b.words[0], b.words[1]}});
          mma_sync<MultipliedDtype<Operand>>(sums.tiles[m][2 * pair + 1], a[m][part],
                                             {{b.words[2], b.words[3]}});
        }
      }
    }
  }
}

/// sums += left right^T, for the Columns rows of `right` from first_row on.
template <class Operand, int Rows, int Columns, class Left, class Tile>
PRECAST_DEVICE void add_product_transposed(TensorCoreAccumulator<Rows, Columns>& sums, const Left& left,
                                           Tile right, int first_row = 0) {
  constexpr int steps = Tile::chunks_per_row / 2;
  constexpr int at_once = steps % 4 == 0 ? 4 : 2;
  const int lane = lane_index();
  const TileReader reader(right, first_row + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  PRECAST_KEEP_LOOP
  for (int step = 0; step < steps; step += at_once)
    add_products<Operand, at_once>(sums, step, left,
                                   [&](int s, int pair) { return ldmatrix<4>(reader.at(16 * pair, 2 * s)); });
}

/// sums += left right, where the depth of `left` is the rows of `right`.
template <class Operand, int Rows, int Columns, class Left, class Tile>
PRECAST_DEVICE void add_product(TensorCoreAccumulator<Rows, Columns>& sums, const Left& left, Tile right) {
  static_assert(Tile::columns == Columns, "add_product: sums have the columns of the right factor.");
  constexpr int steps = Tile::rows * static_cast<int>(sizeof(HeldDtype<Operand>)) / 32;
  const int lane = lane_index();
  if constexpr (sizeof(HeldDtype<Operand>) == 2) {
    const TileReader reader(right, lane % 16, lane / 16);
    add_products<Operand, steps>(
        sums, 0, left, [&](int step, int pair) { return ldmatrix<4, true>(reader.at(16 * step, 2 * pair)); });
  } else {
    // ldmatrix transposes 16-bit values only.
    const TileReader even(right, 2 * (lane % 4), lane / 16, lane / 4 % 4);
    const TileReader odd(right, 2 * (lane % 4) + 1, lane / 16, lane / 4 % 4);
    add_products<Operand, steps>(sums, 0, left, [&](int step, int pair) -> Fragment<4> {
      return {{load_word(even.at(8 * step, 4 * pair)), load_word(odd.at(8 * step, 4 * pair)),
               load_word(even.at(8 * step, 4 * pair + 2)), load_word(odd.at(8 * step, 4 * pair + 2))}};
    });
  }
}

}  // namespace precast::gpu
