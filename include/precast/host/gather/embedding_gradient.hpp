// The gradient of an embedding's table: rows sorted by id, and the rows of each id added in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <precast/host/rows/column_sums.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/embedding_without_gradient.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// Row v of out = the sum of the rows i of dy with ids[i] = v, in the order of i; zeros where there is
/// none. Or added to `out`. The ids are rows of `out` or `embedding_without_gradient`; ops check them.
template <class Types, class DY>
void embedding_gradient(HostView<const DY> dy, std::span<const std::int32_t> ids,
                        const GradientOptions& options, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  using Result = typename Types::result;
  // A counting sort: ids are row indices of a table.
  std::vector<std::int64_t> first(static_cast<std::size_t>(out.shape()[0]) + 1), order(ids.size());
  for (const std::int32_t id : ids)
    if (id != embedding_without_gradient) ++first[static_cast<std::size_t>(id) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int64_t> next(first.begin(), first.end());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != embedding_without_gradient)
      order[static_cast<std::size_t>(next[static_cast<std::size_t>(ids[i])]++)] =
          static_cast<std::int64_t>(i);
  const std::int64_t columns = out.columns();
  constexpr std::int64_t rows_per_task = 16;
  parallel_for(ceil_divide(out.rows(), rows_per_task), [&](std::int64_t task) {
    HostTensor<f32> scratch(Shape{2, columns});
    f32 *const sums = scratch.data(), *const wide = sums + columns;
    const std::int64_t end = std::min(out.rows(), (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) {
      const std::span<Result> to = out.row(row);
      const std::span<const std::int64_t> terms = std::span<const std::int64_t>(order).subspan(
          static_cast<std::size_t>(first[static_cast<std::size_t>(row)]),
          static_cast<std::size_t>(first[static_cast<std::size_t>(row) + 1] -
                                   first[static_cast<std::size_t>(row)]));
      if (terms.empty()) {
        if (!options.accumulate) std::fill(to.begin(), to.end(), Result{});
        continue;
      }
      std::fill_n(sums, columns, 0.0f);
      for (const std::int64_t term : terms) {
        const std::span<const f32> values = row_in_f32(dy.row(term), wide);
        for (std::int64_t c = 0; c < columns; ++c)
          sums[c] = narrow_add<Types>(sums[c], values[static_cast<std::size_t>(c)]);
      }
      for (std::int64_t c = 0; c < columns; ++c)
        detail::store_gradient<Types::saturate>(to[static_cast<std::size_t>(c)], sums[c], options.accumulate);
    }
  });
}
/// The same for unchecked ids: one that is not a row of `out` is skipped.
template <class Types, class DY, IndexInteger Number>
void embedding_gradient(HostView<const DY> dy, IndicesIn<Number, HostSpace> ids,
                        const GradientOptions& options, HostView<typename Types::result> out) {
  std::vector<std::int32_t> rows;
  rows.reserve(static_cast<std::size_t>(ids.count));
  for (std::int64_t i = 0; i < ids.count; ++i) {
    const Number id = ids.data[i];
    rows.push_back(id >= 0 && id < out.shape()[0] ? static_cast<std::int32_t>(id)
                                                  : embedding_without_gradient);
  }
  embedding_gradient<Types>(dy, std::span<const std::int32_t>(rows), options, out);
}

}  // namespace precast::host
