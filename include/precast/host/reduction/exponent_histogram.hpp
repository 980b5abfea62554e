// The exponent histogram of an array's values.
#pragma once

#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/problem/exponent_histogram.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// Adds the exponents of an array's values to counts.
template <ScalarDtype T>
void count_exponents(HostView<const T> values, ExponentHistogram& counts) {
  for (std::int64_t row = 0; row < values.rows(); ++row)
    for (const T value : values.row(row)) counts.add(convert_value<f32>(value));
}

}  // namespace precast::host
