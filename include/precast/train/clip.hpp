// The norm of all gradients together, and gradients made shorter by it.
#pragma once

#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/host/optimiser/optimiser_values.hpp>

namespace precast::train {

/// The sum of the squares of values, in f64, in an order that no number of threads changes.
template <ScalarDtype T>
double sum_of_squares(std::span<const T> values) {
  return host::sum_of_squares(values);
}

/// What gradients of a norm are multiplied by so that it is `most` at the most, as
/// torch.nn.utils.clip_grad_norm_ has it: most / (norm + 1e-6), 1 at the most; NaN for a norm of NaN.
inline f32 clip_factor(double norm, double most) {
  // A number over a tensor is the tensor's reciprocal times the number in PyTorch, with two roundings.
  const f32 factor = 1.0f / (static_cast<f32>(norm) + 1e-6f) * static_cast<f32>(most);
  return factor > 1.0f ? 1.0f : factor;
}

/// Multiplies gradients by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_gradients(std::span<T> gradients, f32 factor) {
  host::scale_values(gradients, factor);
}

}  // namespace precast::train
