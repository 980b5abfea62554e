// The gradient of what is added to every row.
#pragma once

#include <cstdint>

#include <precast/cuda/rows/column_sums.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// The value of each repetition that belongs to a place of what is repeated.
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

/// out [..., C] = the sum of the rows of dy that follow each other in steps of out's rows; or added to it.
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
