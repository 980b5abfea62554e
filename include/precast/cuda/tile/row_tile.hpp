// RowTile: how many threads work on a row of a norm or a softmax, and whether they keep it in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include <precast/cuda/device/thread.hpp>

namespace precast::gpu {

/// Threads of a block and of a row; a row's threads are lanes of one warp, or the whole block. Each thread
/// keeps `runs` runs of values in registers, or none: then it reads its part of the row again for each pass.
struct RowTile {
  int threads = 0;
  int lanes = 0;
  int runs = 0;

  PRECAST_HOST_DEVICE_CONSTEXPR int rows() const { return threads / lanes; }
  PRECAST_HOST_DEVICE_CONSTEXPR bool resident() const { return runs > 0; }
  /// Whether a row of so many runs fits.
  constexpr bool holds(std::int64_t runs_of_row) const {
    return !resident() || runs_of_row <= static_cast<std::int64_t>(lanes) * runs;
  }
  friend constexpr bool operator==(const RowTile&, const RowTile&) = default;
};

/// From the narrowest on. What bounds these kernels is memory, which every architecture reaches with the same
/// tiles: a row is read once, by as few threads as hold it in 32 registers each, and blocks are small, so
/// that several share a multiprocessor and one loads while another waits at its barrier. Eight lanes take a
/// 16-bit head of 128, a warp a CLIP row, a block of 128 a FLUX or T5 row.
inline constexpr RowTile row_tiles[]{{128, 8, 2}, {128, 32, 4}, {128, 128, 4}, {512, 512, 4}, {512, 512, 0}};

/// The narrowest tile that holds a row of `columns` values in runs of `run`.
constexpr std::size_t select_row_tile(std::int64_t columns, int run) {
  const std::int64_t runs = ceil_divide(columns, run);
  std::size_t chosen = 0;
  while (!row_tiles[chosen].holds(runs)) ++chosen;
  return chosen;
}

/// Calls `function` with the number of the tile for such rows as a std::integral_constant: nvcc 13 cannot
/// make a kernel of a template with the tile itself as an argument.
template <class F>
void visit_row_tile(std::int64_t columns, int run, F&& function) {
  const std::size_t chosen = select_row_tile(columns, run);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I == chosen ? function(std::integral_constant<int, static_cast<int>(I)>{}) : void()), ...);
  }
  (std::make_index_sequence<std::size(row_tiles)>{});
}

}  // namespace precast::gpu
