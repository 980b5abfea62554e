// A row of a norm or a softmax: how many threads work on it, and whether they keep it in registers
// (RowTile); and its values as a thread sees them (Row): every lanes-th run, in registers or read again for
// each pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
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
/// 16-bit head of 128, a warp a CLIP row, a block of 128 a FLUX or T5 row, of 256 one of f32.
inline constexpr RowTile row_tiles[]{{128, 8, 2},   {128, 32, 4},  {128, 128, 4},
                                     {256, 256, 4}, {512, 512, 4}, {512, 512, 0}};

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

/// The row of a grid's rows that a thread works on, and its number among the row's threads.
struct RowPlace {
  std::int64_t row;
  int lane;
};

template <RowTile Tile>
PRECAST_DEVICE RowPlace row_place() {
  const int thread = thread_index();
  return {static_cast<std::int64_t>(block_index().x) * Tile.rows() +
              planted<"row of another group of lanes">(thread / Tile.lanes, thread % Tile.rows()),
          thread % Tile.lanes};
}

/// The blocks that have a place for each of `rows` rows.
inline GridIndex blocks_of_rows(const RowTile& tile, std::int64_t rows) {
  return {grid_blocks(ceil_divide(rows, tile.rows())), 1, 1};
}

/// The threads of a row must all construct one, of the same row; past the last row, of 0 columns.
template <RowTile Tile, int Count, class T>
class Row {
 public:
  PRECAST_DEVICE Row(GlobalPointer<const T> from, std::int64_t columns, int lane, bool aligned)
      : from_(from), columns_(columns), lane_(lane), aligned_(aligned) {
    if constexpr (Tile.resident()) {
      Run<T, Count> loads[Tile.runs]{};
      walk([&](int i, std::int64_t first, int present) {
        loads[i] = load_run<Count>(from_ + first, present, aligned_);
      });
      PRECAST_UNROLL
      for (int i = 0; i < Tile.runs; ++i) runs_[i] = in_f32(loads[i]);
    }
  }

  /// Calls `f(first column, how many of Count values are there, the values)` for each of the thread's runs.
  template <class F>
  PRECAST_DEVICE void for_each_run(F&& f) const {
    walk([&](int i, std::int64_t first, int present) {
      if constexpr (Tile.resident())
        f(first, present, runs_[i]);
      else
        f(first, present, load_f32<Count>(from_ + first, present, aligned_));
    });
  }

  /// The sum of `term(x)` over the thread's values, at most 64 of them in a row: each addition's error grows
  /// with the sum so far.
  template <class Term>
  PRECAST_DEVICE f32 partial_sum(Term&& term) const {
    f32 sum = 0, block = 0;
    for_each_run([&](std::int64_t first, int present, const Run<f32, Count>& x) {
      if (present == Count) {  // instead of a test for each value
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i) block += term(x[i]);
      } else {
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i)
          if (i < present) block += term(x[i]);
      }
      if constexpr (!Tile.resident()) {
        constexpr std::int64_t runs_of_block = 64 / Count;
        if (first / (Count * Tile.lanes) % runs_of_block == runs_of_block - 1) {
          sum += block;
          block = 0;
        }
      }
    });
    return sum + block;
  }
  /// The same over the row's values, in each of its threads. `Use` names the sum, as for block_sum.
  template <class Use, class Term>
  PRECAST_DEVICE f32 sum(Term&& term, Site site = Site::here()) const {
    const f32 partial = partial_sum(term);
    if constexpr (Tile.lanes <= threads_per_warp)
      return warp_sum<Tile.lanes>(partial);
    else
      return block_sum<Tile.lanes, Use>(partial, site);
  }
  /// The largest value, NaN passed over; -inf where there is none.
  template <class Use>
  PRECAST_DEVICE f32 largest(Site site = Site::here()) const {
    f32 largest = -infinity;
    for_each_run([&](std::int64_t, int present, const Run<f32, Count>& x) {
      PRECAST_UNROLL
      for (int i = 0; i < Count; ++i)
        if (i < present) largest = maximum(largest, x[i]);
    });
    if constexpr (Tile.lanes <= threads_per_warp)
      return warp_max<Tile.lanes>(largest);
    else
      return block_max<Tile.lanes, Use>(largest, site);
  }

 private:
  /// Calls `f(number, first column, how many values are there)` for each of the thread's runs.
  template <class F>
  PRECAST_DEVICE void walk(F&& f) const {
    if constexpr (Tile.resident()) {
      PRECAST_UNROLL
      for (int i = 0; i < Tile.runs; ++i) {
        const int first = (i * Tile.lanes + lane_) * Count;
        if (first < columns_) f(i, first, present_from(first));
      }
    } else {
      constexpr std::int64_t step = static_cast<std::int64_t>(Tile.lanes) * Count;
      for (std::int64_t first = static_cast<std::int64_t>(lane_) * Count; first < columns_; first += step)
        f(0, first, present_from(first));
    }
  }
  PRECAST_DEVICE int present_from(std::int64_t first) const {
    const bool whole = planted<"run past the end of the row">(columns_ - first >= Count, true);
    return whole ? Count : static_cast<int>(columns_ - first);
  }

  GlobalPointer<const T> from_;
  std::int64_t columns_;
  int lane_;
  bool aligned_;
  Run<f32, Count> runs_[Tile.resident() ? Tile.runs : 1];
};

}  // namespace precast::gpu
