// Casts of arrays between all scalar dtypes, copies among them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/value_kernels.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::host {

/// Converts an array to one of another dtype with the same number of values and columns; both may be strided.
template <ScalarDtype To, bool Saturates, ScalarArray A>
void convert_values(const A& from, HostView<To> to) {
  const auto in = as_view(from);
  if (in.elements() != to.elements() || in.columns() != to.columns())
    throw ShapeError("cannot copy " + to_string(in.shape()) + " into " + to_string(to.shape()));
  if (in.elements() == 0) return;
  const bool whole = in.contiguous() && to.contiguous();
  const std::int64_t rows = whole ? 1 : in.rows(), columns = whole ? in.elements() : in.columns();
  constexpr std::int64_t chunk = 16 * values_per_chunk;
  const std::int64_t chunks = ceil_divide(columns, chunk);
  // Short rows are grouped, so that a task is worth a thread.
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, chunk / columns);
  const std::int64_t row_groups = ceil_divide(rows, rows_per_task);
  parallel_for(row_groups * chunks, [&](std::int64_t task) {
    const std::int64_t first = task % chunks * chunk, count = std::min(chunk, columns - first);
    const std::int64_t begin = task / chunks * rows_per_task, end = std::min(rows, begin + rows_per_task);
    for (std::int64_t r = begin; r < end; ++r)
      convert_row<To, Saturates>(
          std::span<const value_type_of<A>>(in.data() + r * in.row_stride() + first,
                                            static_cast<std::size_t>(count)),
          std::span<To>(to.data() + r * to.row_stride() + first, static_cast<std::size_t>(count)));
  });
}

}  // namespace precast::host
