// GEMV and skinny GEMM with a weight in blocks: memory-bound, at the rate at which the blocks are read,
// each of them once.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/bytes.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/tile/block_gemv_tile.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/decode_chunk.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// Rows of blocks as bytes, which are loaded 16 at a time whatever the address at which a row begins.
struct BlockBytes {
  GlobalPointer<const unsigned char> data;
  std::int64_t bytes, rows;
  int bytes_per_row;
  bool wide;  ///< whether the first row begins on a multiple of 16
};

template <class Types, class X>
struct BlockGemv {
  MatrixRows<X> x;
  BlockBytes weight;
  ProductEpilogue<typename Types::result, Types::saturate> store;
};

/// Starts the load of 16 bytes from byte `at` of the weight on, a multiple of 16; zeros after its end. They
/// have arrived after cp_async_wait and a barrier.
PRECAST_DEVICE void load_16_bytes(const BlockBytes& from, std::int64_t at, SharedPointer<unsigned char> to) {
  const std::int64_t left = from.bytes - at;
  const int present = left >= 16 ? 16 : planted<"bytes past the end">(static_cast<int>(left), 16);
  if (from.wide) {
    cp_async<16>(to, from.data + at, present);
  } else {
    for (int i = 0; i < 16; ++i) to[i] = i < present ? from.data[at + i] : static_cast<unsigned char>(0);
  }
}

/// Each warp computes the features of its tile, and loads their blocks slab by slab. In a slab, a lane
/// decodes every 32nd chunk of columns, in order; the lanes' sums are added in a fixed tree. The blocks are
/// read from memory once, which is the minimum; rows are read from the cache once for each warp.
template <class Types, class X, int Rows>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(threads_per_warp* select_block_gemv_tile(Rows).warps, 1)
    block_gemv(PRECAST_GRID_CONSTANT const BlockGemv<Types, X> product) {
  constexpr BlockGemvTile tile = select_block_gemv_tile(Rows);
  using Operand = typename Types::operand;
  using Format = typename Types::storage;
  using Slab = BlockSlab<Format>;
  // With a single row, registers have room for more values of one scale.
  constexpr int of_a_scale = values_in_piece<Format>;
  constexpr int chunk = Rows == 1 && of_a_scale != 0 && of_a_scale % 16 == 0 ? 16 : values_in_chunk<Format>;
  constexpr int features = tile.features_per_warp;
  constexpr int in_block = dtype_traits<Format>::values_per_block;
  constexpr int stage_bytes = features * Slab::shared_bytes, ring_bytes = tile.stages * stage_bytes;
  const auto& x = product.x;
  const auto& weight = product.weight;
  const auto& store = product.store;
  const int columns = x.columns;
  const int first_feature = (block_index().x * tile.warps + warp_index()) * features;
  const auto ring = dynamic_shared<unsigned char>(warp_index() * ring_bytes, ring_bytes);

  const std::int64_t rows_left = weight.rows - first_feature;
  const int there = rows_left < features ? static_cast<int>(rows_left) : features;

  // The byte at which a feature's slab begins, and how many of the bytes loaded for it come before that.
  const auto slab_begin = [&](int feature, int slab) {
    return first_feature * std::int64_t{weight.bytes_per_row} + std::int64_t{slab} * Slab::bytes +
           planted<"blocks of another row">(feature, 0) * std::int64_t{weight.bytes_per_row};
  };
  const auto before_slab = [](std::int64_t begin) { return static_cast<int>(begin) & 15; };
  const auto load = [&](int slab) {
    const int left = columns - slab * Slab::values;
    const int blocks = left < Slab::values ? ceil_divide(left, in_block) : Slab::blocks;
    const auto to = ring + slab % tile.stages * stage_bytes;
    PRECAST_KEEP_LOOP
    for (int i = lane_index(); i < there * Slab::units; i += threads_per_warp) {
      const int f = i / Slab::units, first_byte = 16 * (i - f * Slab::units);
      const std::int64_t begin = slab_begin(f, slab);
      const int before = before_slab(begin);
      if (first_byte < before + blocks * int{sizeof(Format)})
        load_16_bytes(weight, begin - before + first_byte, to + (f * Slab::shared_bytes + first_byte));
    }
  };

  typename MatrixRows<X>::Row x_rows[tile.rows];
  PRECAST_UNROLL
  for (int r = 0; r < tile.rows; ++r) x_rows[r] = x.row(r);
  const int slabs = ceil_divide(columns, Slab::values);
  constexpr int ahead = tile.stages - 1;
  PRECAST_KEEP_LOOP
  for (int slab = 0; slab < ahead; ++slab) {
    if (slab < slabs) load(slab);
    cp_async_commit();
  }

  f32 sums[features][tile.rows] = {};
  PRECAST_KEEP_LOOP
  for (int slab = 0; slab < slabs; ++slab) {
    cp_async_wait<ahead - 1>();
    // This slab has arrived for all lanes, and all are done with the one that is filled next.
    sync_warp();
    const int next = slab + planted<"stage in use">(ahead, ahead + 1);
    if (next < slabs) load(next);
    cp_async_commit();
    PRECAST_KEEP_LOOP
    for (int first = lane_index() * chunk; first < Slab::values; first += threads_per_warp * chunk) {
      const int column = slab * Slab::values + first, present = columns - column;
      if (present <= 0) break;
      f32 weights[features][chunk];
      PRECAST_UNROLL
      for (int f = 0; f < features; ++f) {
        const int at = slab % tile.stages * stage_bytes + f * Slab::shared_bytes +
                       before_slab(slab_begin(f, slab)) + first / in_block * int{sizeof(Format)};
        decode_chunk<Format, chunk>(object_at<Format>(ring + at), first % in_block, weights[f]);
        round_operands<Operand, Types::saturate>(weights[f]);
        if (present < chunk) {  // values after the last column do not belong to the row
          PRECAST_UNROLL
          for (int i = 0; i < chunk; ++i)
            if (i >= present) weights[f][i] = 0;
        }
      }
      PRECAST_UNROLL
      for (int r = 0; r < tile.rows; ++r) {
        if (!x_rows[r].there) break;
        const auto values = load_run<chunk>(x.data + (x_rows[r].offset + column),
                                            planted<"columns past the end">(present, present + 1), x.wide);
        PRECAST_UNROLL
        for (int i = 0; i < chunk; ++i) {
          const f32 value = operand_in_f32<Operand, Types::saturate>(values[i]);
          PRECAST_UNROLL
          for (int f = 0; f < features; ++f) sums[f][r] = multiply_then_add(value, weights[f][i], sums[f][r]);
        }
      }
    }
  }

  store_sums_of_lanes(sums, first_feature, store);
}

/// Starts the product of at most `max_skinny_rows` rows with a weight in blocks.
template <class Types, class X>
void launch_block_gemv(const MatrixRows<X>& x, const BlockRows<typename Types::storage>& weight,
                       const ProductEpilogue<typename Types::result, Types::saturate>& store, Stream stream) {
  using Format = typename Types::storage;
  const std::int64_t bytes_per_row = weight.row_stride * std::int64_t{sizeof(Format)};
  if (bytes_per_row >> 31)
    throw ShapeError("linear: a row of the weight takes " + std::to_string(bytes_per_row) +
                     " bytes, and at most 2^31 are supported");
  const auto data = bytes_of(weight.data, weight.rows * weight.row_stride);
  const BlockBytes bytes{.data = data,
                         .bytes = weight.rows * bytes_per_row,
                         .rows = weight.rows,
                         .bytes_per_row = static_cast<int>(bytes_per_row),
                         .wide = begin_on_16_bytes(data)};
  const auto start = [&]<int Rows>(std::integral_constant<int, Rows>) {
    constexpr BlockGemvTile tile = select_block_gemv_tile(Rows);
    launch("block_gemv", block_gemv<Types, X, Rows>,
           LaunchShape{.blocks = {ceil_divide(store.features, tile.warps * tile.features_per_warp), 1, 1},
                       .threads = threads_per_warp * tile.warps,
                       .shared_bytes = static_cast<std::size_t>(tile.shared_bytes<Format>())},
           stream, BlockGemv<Types, X>{x, bytes, store});
  };
  if (store.rows == 1)
    start(std::integral_constant<int, 1>{});
  else
    start(std::integral_constant<int, max_skinny_rows>{});
}

}  // namespace precast::gpu
