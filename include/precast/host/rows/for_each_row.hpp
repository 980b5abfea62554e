// for_each_row: passes over the rows of arrays, several rows a task, cut in the same places for any number
// of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// The number of rows of `columns` values that a task takes.
inline std::int64_t rows_of_task(std::int64_t columns) {
  return std::max<std::int64_t>(1, 8 * values_per_chunk / std::max<std::int64_t>(columns, 1));
}

/// Calls `body(first, end)` for the rows of each task, on any thread and in any order.
template <class Body>
void parallel_for_rows(std::int64_t rows, std::int64_t columns, Body&& body) {
  const std::int64_t at_once = rows_of_task(columns);
  parallel_for(ceil_divide(rows, at_once),
               [&](std::int64_t task) { body(task * at_once, std::min(rows, (task + 1) * at_once)); });
}

/// Calls `body(row index, in as f32, out to compute in)` for each row, and stores the result.
template <class Types, class From, class Body>
void for_each_row(HostView<const From> x, HostView<typename Types::result> out, Body&& body) {
  parallel_for_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t end) {
    HostTensor<f32> scratch(Shape{2, x.columns()});
    for (std::int64_t r = first; r < end; ++r) {
      const auto in = row_in_f32(x.row(r), scratch.data());
      const auto computed = row_to_compute(out.row(r), scratch.data() + x.columns());
      body(r, in, computed);
      store_row<Types::saturate>(std::span<const f32>(computed), out.row(r));
    }
  });
}

}  // namespace precast::host
