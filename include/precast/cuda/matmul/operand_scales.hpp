// OperandScales: what makes narrow operands span the range of their tensor.
#pragma once

#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// One factor for all of x and one for all of a weight, each an f32 in device memory (null: 1): the sum of
/// products is multiplied by both, before a bias is added. fp8 tensors are stored divided by theirs
/// (Micikevicius et al. 2022).
struct OperandScales {
  const f32* x = nullptr;
  const f32* weight = nullptr;

  bool any() const { return x || weight; }
};

}  // namespace precast::gpu
