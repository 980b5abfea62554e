// The norm of all gradients together, and gradients made shorter by it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/train/for_each_chunk.hpp>

namespace precast::train {

/// The sum of the squares of values, in f64, in an order that no number of threads changes.
template <ScalarDtype T>
double sum_of_squares(std::span<const T> values) {
  std::vector<double> sums(detail::chunks_of(values.size()));
  detail::for_each_chunk(values.size(), [&](std::size_t chunk, std::size_t first, std::size_t end) {
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      const double value = convert<f32>(values[i]);
      sum += value * value;
    }
    sums[chunk] = sum;
  });
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

/// What gradients of a norm are multiplied by so that it is `most` at the most, as
/// torch.nn.utils.clip_grad_norm_ has it: most / (norm + 1e-6), 1 at the most; NaN for a norm of NaN.
inline f32 clip_factor(double norm, double most) {
  const f32 factor = static_cast<f32>(most) / (static_cast<f32>(norm) + 1e-6f);
  return factor > 1.0f ? 1.0f : factor;
}

/// Multiplies gradients by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_gradients(std::span<T> gradients, f32 factor) {
  detail::for_each_chunk(gradients.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) gradients[i] = convert<T>(convert<f32>(gradients[i]) * factor);
  });
}

}  // namespace precast::train
