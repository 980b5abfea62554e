// A row of values as the threads that work on it see it: each has every lanes-th run, in registers or read
// again for each pass.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/row_tile.hpp>

namespace precast::gpu {

/// Which row of a grid's rows a thread works on, and its number among the row's threads.
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
  return {static_cast<int>(ceil_divide(rows, tile.rows())), 1, 1};
}

/// The threads of a row must all make one, of the same row; where there is no such row, of 0 columns.
template <RowTile Tile, int Count, class T>
class Row {
 public:
  PRECAST_DEVICE Row(GlobalPointer<const T> from, std::int64_t columns, int lane, bool aligned)
      : from_(from), columns_(columns), lane_(lane), aligned_(aligned) {
    if constexpr (Tile.resident())
      walk([&](int i, std::int64_t first, int present) {
        runs_[i] = load_f32<Count>(from_ + first, present, aligned_);
      });
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
      PRECAST_UNROLL
      for (int i = 0; i < Count; ++i)
        if (i < present) block += term(x[i]);
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
