// Sums of many rows, column by column, in one order for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <precast/dtype/convert_value.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/blocked_sum.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host::detail {

/// The partial sums that rows are added to: row r to number r mod this many, in order.
inline constexpr std::int64_t row_partial_sums = narrow_partial_sums;

/// Adds the sums of a block to those of blocks, and begins it anew.
inline void end_block(f32* sums, f32* of_blocks, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) of_blocks[c] += sums[c];
  std::fill_n(sums, width, 0.0f);
}

/// Adds row `first` and each that follows it in steps of row_partial_sums to `sums`, column by column as
/// BlockedSum does.
template <class AddRow>
void add_in_blocks(std::int64_t first, std::int64_t rows, std::int64_t width, AddRow&& add_row, f32* sums) {
  HostTensor<f32> upper(Shape{2, width});
  std::fill_n(upper.data(), 2 * width, 0.0f);
  f32 *const blocks = upper.data(), *const blocks_of_blocks = blocks + width;
  std::int64_t terms = 0;
  for (std::int64_t r = first; r < rows; r += row_partial_sums) {
    add_row(r, sums);
    if (++terms % terms_of_block) continue;
    end_block(sums, blocks, width);
    if (terms % (terms_of_block * terms_of_block) == 0) end_block(blocks, blocks_of_blocks, width);
  }
  for (std::int64_t c = 0; c < width; ++c) sums[c] = (sums[c] + blocks[c]) + blocks_of_blocks[c];
}

/// Calls `add_row(r, sums)` for each of `rows` rows, which adds to `width` sums, f32 values that start as
/// zeros, several rows at the same time to sums of their own; then `store(column, total)` for each of them.
/// Sums of two rows and totals are rounded to Types::accumulate, as `narrow_add` has it: that the terms are
/// is up to `add_row`.
template <class Types, class AddRow, class Store>
void sum_columns(std::int64_t rows, std::int64_t width, AddRow&& add_row, Store&& store) {
  const std::int64_t partial = std::min(rows, row_partial_sums);
  HostTensor<f32> sums(Shape{partial, width});
  parallel_for(partial, [&](std::int64_t lane) {
    f32* const own = sums.data() + lane * width;
    std::fill_n(own, width, 0.0f);
    if (!is_narrow<Types> && rows >= row_partial_sums * terms_of_block)
      add_in_blocks(lane, rows, width, add_row, own);
    else
      for (std::int64_t r = lane; r < rows; r += row_partial_sums) add_row(r, own);
  });
  constexpr std::int64_t columns_per_task = 512;
  parallel_for(ceil_divide(width, columns_per_task), [&](std::int64_t task) {
    const std::int64_t first = task * columns_per_task, end = std::min(width, first + columns_per_task);
    if constexpr (is_narrow<Types>) {
      for (std::int64_t c = first; c < end; ++c) {
        f32 total = 0;
        for (std::int64_t p = 0; p < partial; ++p)
          total = narrow_add<Types>(total, sums.data()[p * width + c]);
        store(c, total);
      }
    } else {
      // By halves, which keeps the error from growing with the number of partial sums.
      for (std::int64_t left = partial; left > 1; left = ceil_divide(left, std::int64_t{2})) {
        const std::int64_t half = ceil_divide(left, std::int64_t{2});
        for (std::int64_t p = 0; p + half < left; ++p) {
          f32* const to = sums.data() + p * width;
          const f32* const from = to + half * width;
          for (std::int64_t c = first; c < end; ++c) to[c] += from[c];
        }
      }
      for (std::int64_t c = first; c < end; ++c) store(c, partial ? sums.data()[c] : 0.0f);
    }
  });
}

/// Stores a gradient of parameters, or adds it to the one that is there.
template <bool Saturates, class T>
void store_gradient(T& place, f32 gradient, bool accumulate) {
  place = convert_value<T, Saturates>(accumulate ? convert_value<f32>(place) + gradient : gradient);
}

}  // namespace precast::host::detail
