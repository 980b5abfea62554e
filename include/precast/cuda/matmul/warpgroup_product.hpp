// WarpgroupProduct: the products and sums of one warpgroup's part of a tile, by Hopper's wgmma, which reads
// both sides from swizzled shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/smem_descriptor.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/warpgroup.hpp>
#include <precast/cuda/device/wgmma.hpp>
#include <precast/cuda/matmul/warp_product.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>

namespace precast::gpu {

/// Whether the code that is being compiled multiplies these by warpgroups: 16-bit values, for sm_90a.
template <ScalarDtype Multiplied>
inline constexpr bool multiplies_by_warpgroups = has_warpgroup_products &&
                                                 (std::is_same_v<Multiplied, bf16> ||
                                                  std::is_same_v<Multiplied, f16>);

/// Sums of 64 x Features products, 16 rows of them in each warp.
template <ScalarDtype Multiplied, int Features>
class WarpgroupProduct {
  static_assert(Features == 64 || Features == 128, "WarpgroupProduct: wgmma of 64 or 128 columns.");

 public:
  static constexpr int rows_per_warp = warpgroup_rows / warps_per_warpgroup;
  /// The number of calls of `take_features`.
  static constexpr int groups = Features / MatmulTile::features_per_warp;

  /// Starts to add the products of a stage: the warpgroup's 64 rows from first_row on, and all features.
  /// All threads must have written them before fence_async_proxy() and a barrier.
  template <class RowTile, class FeatureTile>
  PRECAST_DEVICE void start(RowTile rows, int first_row, FeatureTile features) {
    wgmma_fence(sums_.tiles[0]);
    PRECAST_UNROLL
    for (int k = 0; k < RowTile::columns / depth; ++k)
      wgmma<Multiplied, false>(sums_.tiles[0], rows_as_depth(rows, first_row, k),
                               rows_as_depth(features, 0, planted<"depth of a wgmma">(k, 0)), true);
    wgmma_commit();
  }
  /// Waits for all stages but the last one started: the others may be overwritten after a barrier.
  PRECAST_DEVICE void finish_stage_before() {
    if (planted<"stage before still read">(false, true)) return;
    wgmma_wait<1>(sums_.tiles[0]);
  }
  /// Waits for all stages; call it before sums are taken.
  PRECAST_DEVICE void finish() { wgmma_wait<0>(sums_.tiles[0]); }

  /// The warp's sums of the first 32 features; each further call gives those of the next 32.
  PRECAST_DEVICE WarpProduct<Multiplied, rows_per_warp> take_features() {
    constexpr int taken = MatmulTile::features_per_warp / 8, all = Features / 8;
    AccumulatorFragment first[taken];
    PRECAST_UNROLL
    for (int j = 0; j < taken; ++j) first[j] = sums_.tiles[0][j];
    // The rest moves up, because registers cannot be indexed at run time.
    PRECAST_UNROLL
    for (int j = 0; j + taken < all; ++j) sums_.tiles[0][j] = sums_.tiles[0][j + taken];
    return WarpProduct<Multiplied, rows_per_warp>(first);
  }

 private:
  static constexpr int depth = 16;

  /// The descriptor of a tile's rows from first_row on, with 16 of their columns as depth.
  template <class Tile>
  static PRECAST_DEVICE SmemDescriptor rows_as_depth(Tile tile, int first_row, int step) {
    static_assert(Tile::chunks_per_row == 8 && !Tile::spreads_eighths,
                  "WarpgroupProduct: rows of 128 bytes, swizzled as the TMA swizzles them.");
    constexpr int row_bytes = 128, rows_of_pattern = 8;
    const std::uint32_t start =
        shared_address(tile.data) + static_cast<std::uint32_t>(first_row * row_bytes + step * 2 * depth);
    return smem_descriptor(start, Swizzle::of_128_bytes, 0, rows_of_pattern * row_bytes);
  }

  TensorCoreAccumulator<rows_per_warp, Features> sums_{};
};

}  // namespace precast::gpu
