// The gradient of what is added to every row.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <precast/host/reduction/reduction.hpp>
#include <precast/host/rows/column_sums.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// out [..., C] = the sum of the rows of dy that follow each other in steps of out's rows.
template <class Types, class DY>
void sum_of_rows(HostView<const DY> dy, const GradientOptions& options,
                 HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const std::int64_t columns = dy.columns(), repeated = out.rows(), width = out.elements();
  detail::sum_columns<Types>(
      dy.rows() / repeated, width,
      [&](std::int64_t r, f32* sums) {
        std::array<f32, static_cast<std::size_t>(values_per_chunk)> scratch;
        for (std::int64_t row = 0; row < repeated; ++row)
          for (std::int64_t c = 0; c < columns; c += values_per_chunk) {
            const auto count = static_cast<std::size_t>(std::min(values_per_chunk, columns - c));
            const auto values = row_in_f32(
                dy.row(r * repeated + row).subspan(static_cast<std::size_t>(c), count), scratch.data());
            f32* const to = sums + row * columns + c;
            for (std::size_t i = 0; i < count; ++i) to[i] = narrow_add<Types>(to[i], values[i]);
          }
      },
      [&](std::int64_t place, f32 total) {
        detail::store_gradient<Types::saturate>(detail::value_at(out, place), total, options.accumulate);
      });
}

}  // namespace precast::host
