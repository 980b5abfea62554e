// The rotation of pairs that rotary embeddings are made of.
#pragma once

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// Each pair of neighbouring values turned by its angle, whose cosine and sine stand twice.
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
