// How much shorter gradients become where the norm of all of them is too large.
#pragma once

#include <precast/dtype/scalar.hpp>

namespace precast::train {

/// What gradients of a norm are multiplied by so that it is `most` at the most, as
/// torch.nn.utils.clip_grad_norm_ has it: most / (norm + 1e-6), 1 at the most; NaN for a norm of NaN.
inline f32 clip_factor(double norm, double most) {
  // A number over a tensor is the tensor's reciprocal times the number in PyTorch, with two roundings.
  const f32 factor = 1.0f / (static_cast<f32>(norm) + 1e-6f) * static_cast<f32>(most);
  return factor > 1.0f ? 1.0f : factor;
}

}  // namespace precast::train
