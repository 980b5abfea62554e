// The norm of all gradients together, and gradients made shorter by it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/parallel.hpp>

namespace precast::train {

/// The sum of the squares of values, in f64, in an order that no number of threads changes.
template <ScalarDtype T>
double sum_of_squares(std::span<const T> values) {
  constexpr std::int64_t chunk = 16384;
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<double> sums(static_cast<std::size_t>((count + chunk - 1) / chunk));
  host::parallel_for(static_cast<std::int64_t>(sums.size()), [&](std::int64_t task) {
    const auto end = static_cast<std::size_t>(std::min(count, (task + 1) * chunk));
    double sum = 0;
    for (auto i = static_cast<std::size_t>(task * chunk); i < end; ++i) {
      const double value = convert<f32>(values[i]);
      sum += value * value;
    }
    sums[static_cast<std::size_t>(task)] = sum;
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
  constexpr std::int64_t chunk = 16384;
  const auto count = static_cast<std::int64_t>(gradients.size());
  host::parallel_for((count + chunk - 1) / chunk, [&](std::int64_t task) {
    const auto end = static_cast<std::size_t>(std::min(count, (task + 1) * chunk));
    for (auto i = static_cast<std::size_t>(task * chunk); i < end; ++i)
      gradients[i] = convert<T>(convert<f32>(gradients[i]) * factor);
  });
}

}  // namespace precast::train
