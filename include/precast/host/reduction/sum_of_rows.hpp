// The gradient of an operand that is added to every row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/host/reduction/reduction.hpp>
#include <precast/host/rows/column_sums.hpp>
#include <precast/host/rows/for_each_piece.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// Adds each value of a run to its sum.
template <class Types, class From>
void add_values(std::span<const From> values, f32* sums) {
  for_each_piece(values, [&](std::span<const f32> terms) {
    for (std::size_t i = 0; i < terms.size(); ++i) sums[i] = narrow_add<Types>(sums[i], terms[i]);
    sums += terms.size();
  });
}

}  // namespace detail

/// out [..., C]: each row is the sum of every out.rows()-th row of dy, from its own index on.
template <class Types, class DY>
void sum_of_rows(HostView<const DY> dy, const GradientOptions& options,
                 HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const std::int64_t columns = dy.columns(), repeated = out.rows(), width = out.elements();
  detail::sum_columns<Types>(
      dy.rows() / repeated, width,
      [&](std::int64_t first, std::int64_t count, f32* sums) {
        first *= repeated, count *= repeated;
        if (dy.contiguous())
          detail::add_values<Types>(
              std::span(dy.data() + first * columns, static_cast<std::size_t>(count * columns)), sums);
        else
          for (std::int64_t row = 0; row < count; ++row)
            detail::add_values<Types>(dy.row(first + row), sums + row * columns);
      },
      [&](std::int64_t place, f32 total) {
        detail::store_gradient<Types::saturate>(detail::value_at(out, place), total, options.accumulate);
      });
}

}  // namespace precast::host
