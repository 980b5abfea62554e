// Sums of many rows, column by column, in one order for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

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

/// The number of neighbouring partial sums of `width` columns that a task of sum_columns adds rows to, so
/// that a thread reads runs of rows. No bit depends on it: each row has its own partial sum.
inline std::int64_t partial_sums_of_task(std::int64_t width) {
  const std::int64_t by_threads = ceil_divide(row_partial_sums, std::int64_t{threads()});
  const std::int64_t in_cache = 4 * values_per_chunk / std::max<std::int64_t>(width, 1);
  return std::max<std::int64_t>(1, std::min(by_threads, in_cache));
}

/// Adds the sums of a block to the totals of blocks, and resets them.
inline void end_block(std::span<f32> sums, std::span<f32> of_blocks) {
  for (std::size_t i = 0; i < sums.size(); ++i) of_blocks[i] += sums[i];
  std::fill(sums.begin(), sums.end(), 0.0f);
}

/// Adds `some` neighbouring rows from `first` on, and those that follow in steps of row_partial_sums, to as
/// many partial sums: plain sums, or as BlockedSum does.
template <class AddRows>
void add_to_partial_sums(std::int64_t first, std::int64_t some, std::int64_t rows, std::int64_t width,
                         bool blocked, AddRows&& add_rows, std::span<f32> sums) {
  std::fill(sums.begin(), sums.end(), 0.0f);
  HostTensor<f32> upper(Shape{2, blocked ? some * width : 0});
  std::fill_n(upper.data(), upper.elements(), 0.0f);
  const std::span<f32> blocks = upper.view().row(0), blocks_of_blocks = upper.view().row(1);
  std::int64_t terms = 0;
  for (std::int64_t r = first; r < rows; r += row_partial_sums) {
    const std::int64_t count = std::min(some, rows - r);
    add_rows(r, count, sums.data());
    if (!blocked || ++terms % terms_of_block) continue;
    const auto ended = static_cast<std::size_t>(count * width);
    end_block(sums.first(ended), blocks);
    if (terms % (terms_of_block * terms_of_block) == 0) end_block(blocks.first(ended), blocks_of_blocks);
  }
  if (blocked)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = (sums[i] + blocks[i]) + blocks_of_blocks[i];
}

/// Calls `add_rows(first, count, sums)` for runs of neighbouring rows of `rows`, each of which adds to
/// `width` contiguous f32 sums of its own, which start as zeros; several calls may run at the same time.
/// Then calls `store(column, total)` for each column. Sums of two rows and totals are rounded to
/// Types::accumulate by `narrow_add`; `add_rows` has to round the terms.
template <class Types, class AddRows, class Store>
void sum_columns(std::int64_t rows, std::int64_t width, AddRows&& add_rows, Store&& store) {
  const std::int64_t partial = std::min(rows, row_partial_sums), at_once = partial_sums_of_task(width),
                     tasks = ceil_divide(partial, at_once);
  HostTensor<f32> sums(Shape{partial, width});
  const bool blocked = !is_narrow<Types> && rows >= row_partial_sums * terms_of_block;
  if (blocked) task_memory(tasks, 2 * at_once * width * std::int64_t{sizeof(f32)});
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t first = task * at_once, some = std::min(at_once, partial - first);
    add_to_partial_sums(first, some, rows, width, blocked, add_rows,
                        std::span(sums.data() + first * width, static_cast<std::size_t>(some * width)));
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
      // Pairwise, so that the error does not grow with the number of partial sums.
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
