// The rotation of pairs in rotary embeddings.
#pragma once

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// Rotates each pair of neighbouring values by its angle, whose cosine and sine are given twice.
template <int Count>
PRECAST_DEVICE Run<f32, Count> rotated(const Run<f32, Count>& x, const Run<f32, Count>& cos,
                                       const Run<f32, Count>& sin) {
  static_assert(Count % 2 == 0, "A rotation turns whole pairs.");
  Run<f32, Count> y;
  PRECAST_UNROLL
  for (int i = 0; i < Count; i += 2) {
    y[i] = multiply_then_add(x[i], cos[i], planted<"turned the wrong way">(-x[i + 1], x[i + 1]) * sin[i]);
    y[i + 1] = multiply_then_add(x[i + 1], cos[i + 1], x[i] * sin[i + 1]);
  }
  return y;
}

}  // namespace precast::gpu
