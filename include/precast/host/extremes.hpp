// The extremes of an array, as the watch hook reports them.
#pragma once

#include <precast/dtype/scalar.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// The extremes of x, places counted row by row.
template <ScalarDtype T>
Extremes extremes_of(HostView<const T> x) {
  return extremes_in(x);
}

}  // namespace precast::host
