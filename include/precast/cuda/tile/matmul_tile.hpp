// The tiles of the products that we compute ourselves: matmul and convolution.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/cuda/device/warpgroup.hpp>
#include <precast/cuda/tile/architecture.hpp>
#include <precast/dtype/host_device.hpp>

namespace precast::gpu {

/// The tile of a block of threads: `rows` x `features` sums, from stages of 128 bytes of each row and
/// feature. Each warp computes rows_per_warp x 32 of them.
struct MatmulTile {
  int rows;
  int features;
  int rows_per_warp;
  int stages;               ///< in shared memory at a time: one is multiplied while the others arrive
  bool warpgroups = false;  ///< in code for sm_90a: each computes 64 rows of all features

  static constexpr int features_per_warp = 32;
  static constexpr int bytes_per_row = 128;

  PRECAST_HOST_DEVICE_CONSTEXPR int warps_along_rows() const { return rows / rows_per_warp; }
  PRECAST_HOST_DEVICE_CONSTEXPR int warps() const {
    return warps_along_rows() * (features / features_per_warp);
  }
  PRECAST_HOST_DEVICE_CONSTEXPR int threads() const { return 32 * warps(); }
  PRECAST_HOST_DEVICE_CONSTEXPR int stage_bytes() const { return (rows + features) * bytes_per_row; }
  /// Including the padding that aligns the stages of warpgroups to 1024 bytes.
  PRECAST_HOST_DEVICE_CONSTEXPR int shared_bytes() const {
    return stages * stage_bytes() + (warpgroups ? 1024 : 0);
  }
  friend constexpr bool operator==(const MatmulTile&, const MatmulTile&) = default;
};

/// The tile that suits the sizes: large tiles read their operands less often, small ones leave fewer
/// multiprocessors idle.
enum class MatmulTileSize : std::uint8_t { small, large };

/// Three stages hide the latency of memory; a fourth is taken where it leaves as many blocks on a
/// multiprocessor, which no architecture so far has room for. Registers leave one block of large tiles on a
/// multiprocessor and two of small ones. Warpgroups have a fourth stage, because they start on a stage
/// before they have finished the one before it; only code for sm_90a, which no newer architecture runs, has
/// such tiles.
PRECAST_HOST_DEVICE_CONSTEXPR MatmulTile select_matmul_tile(Architecture architecture, MatmulTileSize size,
                                                            bool for_sm_90a = has_sm_90a_kernels) {
  const bool large = size == MatmulTileSize::large;
  MatmulTile tile{.rows = large ? 128 : 64,
                  .features = large ? 128 : 64,
                  .rows_per_warp = large ? 64 : 32,
                  .stages = 3,
                  .warpgroups = for_sm_90a && architecture == Architecture::sm_90};
  constexpr int reserved = 1024;  // of each block, by the system
  const int of_multiprocessor = limits_of(architecture).shared_per_multiprocessor;
  const auto blocks = [&](int stages) {
    return of_multiprocessor / (stages * tile.stage_bytes() + reserved);
  };
  if (tile.warpgroups || (blocks(4) >= 2 && blocks(4) == blocks(3))) tile.stages = 4;
  return tile;
}

/// select_matmul_tile as a selector (selector.hpp).
template <MatmulTileSize Size>
struct MatmulSelector {
  static PRECAST_HOST_DEVICE_CONSTEXPR MatmulTile tile(Architecture architecture) {
    return select_matmul_tile(architecture, Size);
  }
};

/// Whether there are enough large tiles for every multiprocessor of a large device.
constexpr bool suits_large_tiles(std::int64_t rows, std::int64_t features, const MatmulTile& large) {
  constexpr std::int64_t enough_tiles = 128;
  return ceil_divide(rows, large.rows) * ceil_divide(features, large.features) >= enough_tiles;
}

/// The tile of a skinny GEMM. A warp computes `features_per_warp` results of each row, and has the vectors
/// of `loads_in_flight` steps in flight. Chosen by reasoning; other numbers were not tried: rows are read
/// from the cache once for all features of a warp, and 16 KiB in flight in each multiprocessor keep the
/// memory busy.
struct SkinnyGemmTile {
  int rows;
  int features_per_warp;
  int loads_in_flight;
  int warps;
};

/// The most rows of a skinny GEMM.
inline constexpr int max_skinny_rows = 8;

PRECAST_HOST_DEVICE_CONSTEXPR SkinnyGemmTile select_skinny_gemm_tile(int rows) {
  if (rows == 1) return SkinnyGemmTile{.rows = 1, .features_per_warp = 2, .loads_in_flight = 4, .warps = 4};
  if (rows == 2) return SkinnyGemmTile{.rows = 2, .features_per_warp = 2, .loads_in_flight = 4, .warps = 4};
  return SkinnyGemmTile{
      .rows = rows <= 4 ? 4 : max_skinny_rows, .features_per_warp = 4, .loads_in_flight = 2, .warps = 4};
}

}  // namespace precast::gpu
