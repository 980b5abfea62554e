// The activation functions of problem/activate.hpp in registers.
#pragma once

#include <precast/cuda/device/math.hpp>
#include <precast/problem/activate.hpp>

namespace precast::gpu {

/// 1 / (1 + e^-x): the exponent is never positive, so that nothing overflows and small results keep their
/// bits.
PRECAST_DEVICE f32 sigmoid(f32 x) {
  const f32 small = exponential(x < 0 ? x : -x);
  return (x < 0 ? small : 1.0f) / (1.0f + small);
}

/// The function that is meant. Three of them are x sigmoid(z), and share its code: products are finished
/// value by value, in code for each.
PRECAST_DEVICE f32 activated(Activate activate, f32 x) {
  f32 z = x;
  switch (activate) {
    case Activate::none:
      return x;
    case Activate::relu:
      return x < 0 ? 0.0f : x;
    case Activate::gelu_erf:  // x/2 (1 + erf(x / sqrt 2)) = x/2 erfc(-x / sqrt 2)
      return 0.5f * x * complementary_error_function(-0.707106781f * x);
    case Activate::gelu_tanh:  // x/2 (1 + tanh(z/2)) = x sigmoid(z), without a difference of near equals
      z = 1.59576912f * multiply_then_add(x * x, 0.044715f * x, x);
      break;
    case Activate::quick_gelu:
      z = 1.702f * x;
      break;
    case Activate::silu:
      break;
  }
  return x * sigmoid(z);
}

}  // namespace precast::gpu
