// Mean squares of tensors, with sums in float64.
#pragma once

#include <cstdint>

#include <precast/tensor/tensor.hpp>

namespace precast::casting {

/// Mean of (a - b)^2 of two tensors of one shape.
inline double mean_squared_error(const HostTensor<f32>& a, const HostTensor<f32>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(a.elements());
}

/// Mean of a^2.
inline double mean_square(const HostTensor<f32>& a) {
  double sum = 0;
  for (const f32 value : a.values()) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum / static_cast<double>(a.elements());
}

}  // namespace precast::casting
