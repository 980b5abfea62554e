// The gradient of an array that is added to every row.
#pragma once

#include <cstdint>

#include <precast/cuda/rows/column_sums.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// The value of each repetition at a place of the repeated array.
template <class DY>
struct RepeatedValue {
  DeviceRows<const DY> dy;
  std::int64_t columns, repeated;
  PRECAST_DEVICE f32 operator()(std::int64_t r, std::int64_t place) const {
    const auto [row, column] = divide_index(place, columns);
    return to_f32(dy.row(r * planted<"rows of one repetition">(repeated, std::int64_t{1}) + row)[column]);
  }
};

}  // namespace detail

/// out [..., C] = the sum of dy's blocks of as many consecutive rows as out has; or added to `out`.
template <class Types, class DY>
void sum_of_rows(DeviceView<const DY> dy, const GradientOptions& options,
                 DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  detail::sum_columns<Types>(
      "sum_of_rows", detail::RepeatedValue<DY>{.dy = dy, .columns = dy.columns(), .repeated = out.rows()},
      dy.rows() / out.rows(), out.elements(),
      detail::TotalsOutput<typename Types::result>::of(out, out, options.accumulate), stream);
}

}  // namespace precast::gpu
