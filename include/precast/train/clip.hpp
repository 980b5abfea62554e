// The factor that shortens gradients whose total norm is too large.
#pragma once

#include <precast/dtype/scalar.hpp>

namespace precast::train {

/// The factor that limits gradients of this norm to a norm of `most`, as torch.nn.utils.clip_grad_norm_
/// does: most / (norm + 1e-6), 1 at the most; NaN for a norm of NaN.
inline f32 clip_factor(double norm, double most) {
  // PyTorch computes a number over a tensor as the tensor's reciprocal times the number: two roundings.
  const f32 factor = 1.0f / (static_cast<f32>(norm) + 1e-6f) * static_cast<f32>(most);
  return factor > 1.0f ? 1.0f : factor;
}

}  // namespace precast::train
