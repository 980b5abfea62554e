// Sums of many rows, column by column, in the order of the host's: row r to partial sum r mod 128.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/blocked_sum.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// The sum of `term(i)` for i in [0, count) in each thread of a block of narrow_partial_sums, in the dtypes
/// of Types. A block calls this once per `Use`.
template <class Types, class Use, class Term>
PRECAST_DEVICE f32 sum_in_block(std::int64_t count, Term&& term, Site site = Site::here()) {
  if constexpr (is_narrow<Types>) {
    return narrow_block_sum<Types, Use>(count, term, site);
  } else {
    f32 sum = 0;
    for (std::int64_t i = thread_index(); i < count; i += narrow_partial_sums) sum += term(i);
    return block_sum<narrow_partial_sums, Use>(sum, site);
  }
}

inline constexpr int column_threads = 128;

// Bytes moved: what a term reads once for each row and column; 4 written for a column of each partial sum.
template <class Types, class Term>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(column_threads, 1)
    partial_column_sums_kernel(Term term, std::int64_t rows, std::int64_t width, GlobalPointer<f32> sums) {
  const std::int64_t column = std::int64_t{block_index().x} * column_threads + thread_index();
  if (column >= planted<"column edge">(width, width - 1)) return;
  const std::int64_t step = planted<"rows added twice">(narrow_partial_sums, 1);
  f32 total = 0;
  if constexpr (is_narrow<Types>) {
    for (std::int64_t r = block_index().y; r < rows; r += step)
      total =
          planted<"accumulate ignored">(narrow_add<Types>(total, term(r, column)), total + term(r, column));
  } else {
    BlockedSum sum;
    for (std::int64_t r = block_index().y; r < rows; r += step) sum.add(term(r, column));
    total = sum.total();
  }
  sums[block_index().y * width + column] = total;
}

/// The destination of totals: the first array's values, row by row, and then another array's.
template <class T>
struct TotalsOutput {
  GlobalPointer<T> to, then;
  std::int64_t first, columns, row_stride;  ///< of the first array
  bool accumulate;

  static TotalsOutput of(DeviceView<T> first, DeviceView<T> second, bool accumulate) {
    return {pointer_to(first), pointer_to(second), first.elements(),
            first.columns(),   first.row_stride(), accumulate};
  }
  PRECAST_DEVICE GlobalPointer<T> in_first(std::int64_t place) const {
    const DividedIndex index = divide_index(place, columns);
    return to + index.quotient * row_stride + index.rest;
  }
};

// Bytes moved: 4 read for a column of each partial sum.
template <class Types, bool Saturates, class T>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    total_column_sums_kernel(GlobalPointer<const f32> sums, std::int64_t partial, std::int64_t width,
                             TotalsOutput<T> out) {
  const std::int64_t column = block_index().x;
  const f32 total = sum_in_block<Types, struct ColumnTotals>(
      partial, [&](std::int64_t p) { return sums[p * width + column]; });
  if (thread_index() != 0) return;
  const bool of_first = planted<"totals of the second array">(column < out.first, true);
  const GlobalPointer<T> place = of_first ? out.in_first(column) : out.then + (column - out.first);
  *place = round_to<T, Saturates>(
      planted<"gradient not added">(out.accumulate, false) ? to_f32(T{*place}) + total : total);
}

/// Stores the sums over `rows` rows of `term(row, column)` for each of `width` columns.
template <class Types, class Term, class T>
void sum_columns(const char* name, const Term& term, std::int64_t rows, std::int64_t width,
                 const TotalsOutput<T>& out, Stream stream) {
  if (width == 0) return;
  const auto partial = min_of<std::int64_t>(rows, narrow_partial_sums);
  const StreamScope scope(stream);  // of the partial sums
  Tensor<f32, DeviceMemory> sums(Shape{max_of<std::int64_t>(partial, 1), width});
  launch(name, partial_column_sums_kernel<Types, Term>,
         {{grid_blocks(ceil_divide(width, column_threads)), static_cast<int>(partial), 1}, column_threads},
         stream, term, rows, width, pointer_to(sums.view()));
  launch("total_column_sums", total_column_sums_kernel<Types, Types::saturate, T>,
         {{grid_blocks(width), 1, 1}, narrow_partial_sums}, stream, pointer_to(std::as_const(sums).view()),
         partial, width, out);
}

}  // namespace precast::gpu::detail
