// The policies that language models are trained under. What they compute in follows from the op table alone
// (policy/gradient_table.hpp).
#pragma once

#include <precast/policy/policy.hpp>

namespace precast::language_model::policies {

/// f32 throughout.
using F32 = Policy<Storage<f32>>;
/// f16 throughout, as a model is that was cast to f16 and trained so: sums, parameters and the optimiser's
/// moments as well.
using NaiveF16 = Policy<Storage<f16>, Downcast<Matmul, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>;
/// Parameters and what lies between ops in f32, as autocast's residual stream is; operands in f16.
using AmpF16 = Policy<Storage<f32>, Compute<f16>, Activation<f32>>;
/// The same in bf16.
using AmpBf16 = Policy<Storage<f32>, Compute<bf16>, Activation<f32>>;
/// The model in bf16, and f32 masters of its parameters in the optimiser.
using Bf16 = Policy<Storage<bf16>>;
/// Operands in fp8, results in bf16.
using Fp8 = Policy<Storage<f32>, Compute<fp8_e4m3>>;

}  // namespace precast::language_model::policies
