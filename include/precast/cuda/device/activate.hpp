// The activation functions of problem/activate.hpp in registers.
#pragma once

#include <precast/cuda/device/math.hpp>
#include <precast/problem/activate.hpp>

namespace precast::cuda {

/// 1 / (1 + e^-x): the exponent is never positive, so that nothing overflows and small results keep their
/// bits.
PRECAST_DEVICE f32 sigmoid(f32 x) {
  const f32 small = exponential(x < 0 ? x : -x);
  return (x < 0 ? small : 1.0f) / (1.0f + small);
}

/// x/2 (1 + tanh(z)) with z = sqrt(2/pi) (x + 0.044715 x^3), which is x sigmoid(2z): no difference of near
/// equals.
PRECAST_DEVICE f32 gelu_tanh(f32 x) {
  return x * sigmoid(1.59576912f * multiply_then_add(x * x, 0.044715f * x, x));
}

/// x/2 (1 + erf(x / sqrt 2)) = x/2 erfc(-x / sqrt 2).
PRECAST_DEVICE f32 gelu_erf(f32 x) { return 0.5f * x * complementary_error_function(-0.707106781f * x); }

PRECAST_DEVICE f32 activated(Activate activate, f32 x) {
  switch (activate) {
    case Activate::none:
      return x;
    case Activate::gelu_tanh:
      return gelu_tanh(x);
    case Activate::gelu_erf:
      return gelu_erf(x);
    case Activate::quick_gelu:
      return x * sigmoid(1.702f * x);
    case Activate::silu:
      return x * sigmoid(x);
    case Activate::relu:
      return x < 0 ? 0.0f : x;
  }
  return x;
}

}  // namespace precast::cuda
