// The policies that ops are tested under.
#pragma once

#include <precast/policy/policy.hpp>

namespace precast::testing {

// Names give the operand dtype, then the dtype that operands are rounded from (Of), that of results (In),
// and the other options.
using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
using Tf32 = Policy<Storage<f32>, Compute<tf32>>;
using E4m3 = Policy<Storage<fp8_e4m3>>;
using E5m2 = Policy<Storage<fp8_e5m2>>;

using Bf16OfF32 = Policy<Storage<f32>, Compute<bf16>>;
using Bf16OfF16 = Policy<Storage<f16>, Compute<bf16>>;
using F16OfE4m3 = Policy<Storage<fp8_e4m3>, Compute<f16>>;
using Bf16OfE4m3 = Policy<Storage<fp8_e4m3>, Compute<bf16>>;
using E5m2OfBf16 = Policy<Storage<bf16>, Compute<fp8_e5m2>>;
using Bf16InF32 = Policy<Storage<bf16>, Activation<f32>>;
using F16OfBf16InF32 = Policy<Storage<bf16>, Compute<f16>, Activation<f32>>;
using E4m3OfF32InF32 = Policy<Storage<f32>, Compute<fp8_e4m3>, Activation<f32>>;

using F16Sums = Policy<Storage<f16>, Accumulate<f16>>;
using Bf16SumsInF32 = Policy<Storage<bf16>, Accumulate<bf16>, Activation<f32>>;
using Tf32SumsOfF16InF32 = Policy<Storage<f32>, Compute<f16>, Accumulate<tf32>, Activation<f32>>;
using E5m2SumsInF32 = Policy<Storage<fp8_e5m2>, Accumulate<fp8_e5m2>, Activation<f32>>;

using Bf16UpcastProducts = Policy<Storage<bf16>, Upcast<Matmul, Conv>>;
using F16UpcastProducts = Policy<Storage<f16>, Upcast<Matmul, Conv>>;
using Bf16UpcastAttention = Policy<Storage<bf16>, Upcast<Attention>>;
using F16UpcastAttention = Policy<Storage<f16>, Upcast<Attention>>;

using F16Saturate = Policy<Storage<f16>, Overflow<Saturate>>;
using F16InF32 = Policy<Storage<f16>, Activation<f32>>;
using F16InF32Saturate = Policy<Storage<f16>, Activation<f32>, Overflow<Saturate>>;
using F16InF32SaturateFlash = Policy<Storage<f16>, Activation<f32>, Overflow<Saturate>, Flash>;
using E4m3OfBf16InF32 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>>;
using E4m3OfBf16InF32Saturate = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>, Overflow<Saturate>>;

using F32Flash = Policy<Storage<f32>, Flash>;
using Bf16Flash = Policy<Storage<bf16>, Flash>;
using F16Flash = Policy<Storage<f16>, Flash>;
using Tf32Flash = Policy<Storage<f32>, Compute<tf32>, Flash>;
using Tf32OfBf16Flash = Policy<Storage<bf16>, Compute<tf32>, Activation<bf16>, Flash>;
using Bf16OfF32InF32Flash = Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Flash>;
using E4m3OfBf16Flash = Policy<Storage<bf16>, Compute<fp8_e4m3>, Flash>;
using F16UpcastAttentionFlash = Policy<Storage<f16>, Upcast<Attention>, Flash>;
using F16SaturateUpcastAttentionFlash = Policy<Storage<f16>, Upcast<Attention>, Overflow<Saturate>, Flash>;

}  // namespace precast::testing
