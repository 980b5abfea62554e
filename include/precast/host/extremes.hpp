// The extremes of an array, as the watch hook reports them.
#pragma once

#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// The extremes of x, places counted row by row.
template <ScalarDtype T>
Extremes extremes_of(View<const T> x) {
  Extremes all;
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = 0; c < x.columns(); ++c)
      all = all + Extremes::of(convert_value<f32>(x.data()[r * x.row_stride() + c]), r * x.columns() + c);
  return all;
}

}  // namespace precast::host
