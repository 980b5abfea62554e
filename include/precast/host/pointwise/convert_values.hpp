// Casts of arrays between all scalar dtypes, copies among them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/value_kernels.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// Calls `run(row, first, count)` for parts of all rows, on all threads.
template <class Run>
void for_parts_of_rows(std::int64_t rows, std::int64_t columns, const Run& run) {
  constexpr std::int64_t chunk = 16 * values_per_chunk;
  const std::int64_t chunks = ceil_divide(columns, chunk);
  // Short rows are grouped, so that a task is worth a thread.
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, chunk / columns);
  const std::int64_t row_groups = ceil_divide(rows, rows_per_task);
  parallel_for(row_groups * chunks, [&](std::int64_t task) {
    const std::int64_t first = task % chunks * chunk, count = std::min(chunk, columns - first);
    const std::int64_t begin = task / chunks * rows_per_task, end = std::min(rows, begin + rows_per_task);
    for (std::int64_t r = begin; r < end; ++r) run(r, first, static_cast<std::size_t>(count));
  });
}

}  // namespace detail

/// Converts an array to one of another dtype with the same number of values and columns; both may be strided.
template <ScalarDtype To, bool Saturates, ScalarArray A>
void convert_values(const A& from, HostView<To> to) {
  const auto in = as_view(from);
  if (in.elements() != to.elements() || in.columns() != to.columns())
    throw ShapeError("cannot copy " + to_string(in.shape()) + " into " + to_string(to.shape()));
  if (in.elements() == 0) return;
  const bool whole = in.contiguous() && to.contiguous();
  detail::for_parts_of_rows(
      whole ? 1 : in.rows(), whole ? in.elements() : in.columns(),
      [&](std::int64_t row, std::int64_t first, std::size_t count) {
        convert_row<To, Saturates>(
            std::span<const value_type_of<A>>(in.data() + row * in.row_stride() + first, count),
            std::span<To>(to.data() + row * to.row_stride() + first, count));
      });
}

/// Rounds the values of an array to another dtype, and keeps them in their own.
template <ScalarDtype Rounded, bool Saturates, ScalarDtype T>
void round_in_place(HostView<T> values) {
  watch::rounded_to<Rounded>();
  if (values.elements() == 0) return;
  const bool whole = values.contiguous();
  detail::for_parts_of_rows(
      whole ? 1 : values.rows(), whole ? values.elements() : values.columns(),
      [&](std::int64_t row, std::int64_t first, std::size_t count) {
        for (T& value : std::span<T>(values.data() + row * values.row_stride() + first, count))
          value = convert_value<T>(convert_value<Rounded, Saturates>(value));
      });
}

}  // namespace precast::host
