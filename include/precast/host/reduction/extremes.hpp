// The extremes of an array, as the watch hook reports them.
#pragma once

#include <precast/dtype/scalar.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/magnitudes.hpp>

namespace precast::host {

/// The extremes of x, with indices in row-major order. Also counts its values where an observer wants their
/// magnitudes.
template <ScalarDtype T>
Extremes extremes_of(HostView<const T> x) {
  if (watch::Magnitudes* const magnitudes = watch::counted_magnitudes())
    for (std::int64_t r = 0; r < x.rows(); ++r)
      for (std::int64_t c = 0; c < x.columns(); ++c)
        magnitudes->add(convert_value<f32>(x.data()[r * x.row_stride() + c]));
  return extremes_in(x);
}

}  // namespace precast::host
