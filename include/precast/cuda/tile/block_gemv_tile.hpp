// The tiles of GEMV and skinny GEMM with a weight in blocks.
#pragma once

#include <precast/dtype/decode_chunk.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/dtype/host_device.hpp>

namespace precast::gpu {

/// A slab of a row of blocks: about 512 values, in whole blocks, copied in units of 16 bytes. The first and
/// the last unit may hold bytes of the slab's neighbours.
template <BlockDtype Format>
struct BlockSlab {
  static constexpr int in_block = dtype_traits<Format>::values_per_block;
  static constexpr int blocks = in_block < 512 ? 512 / in_block : 1;
  static constexpr int values = blocks * in_block;
  static constexpr int bytes = blocks * dtype_traits<Format>::bytes_per_block;
  static constexpr int unit = 16;
  static constexpr int units = (bytes + 2 * (unit - 1)) / unit;
  static constexpr int shared_bytes = units * unit;
};

/// The tile of a skinny GEMM with a weight in blocks. A warp computes `features_per_warp` results of each
/// row. For each of these features, it has `stages` slabs of blocks in shared memory: one is decoded while
/// the others arrive. Chosen by reasoning; other numbers were not tried: some 32 KB should be in flight to
/// a multiprocessor, and x, which the warps read from the cache once for all of their features, should be
/// no more than the weight.
struct BlockGemvTile {
  int rows;
  int features_per_warp;
  int stages;
  int warps;

  template <BlockDtype Format>
  PRECAST_HOST_DEVICE_CONSTEXPR int shared_bytes() const {
    return warps * stages * features_per_warp * BlockSlab<Format>::shared_bytes;
  }
};

PRECAST_HOST_DEVICE_CONSTEXPR BlockGemvTile select_block_gemv_tile(int rows) {
  if (rows == 1) return BlockGemvTile{.rows = 1, .features_per_warp = 4, .stages = 3, .warps = 4};
  return BlockGemvTile{.rows = 8, .features_per_warp = 4, .stages = 3, .warps = 4};
}

}  // namespace precast::gpu
