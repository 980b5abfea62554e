// Under which policies each kind of op is tested.
#pragma once

#include <tuple>
#include <type_traits>

#include <support/block_dtype.hpp>
#include <support/policies.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

namespace precast::testing {

using BlocksInBf16 = Policy<Storage<Blocks32>>;
using BlocksInF32 = Policy<Storage<Blocks32>, Compute<f32>>;
using BlocksInF16Sums = Policy<Storage<Blocks32>, Compute<f16>, Accumulate<f16>>;

#if defined(PRECAST_FEW_POLICIES)

// Enough to show that the sources compile, where nothing runs them (tests/op_cases/gpu).
using ProductPolicies = std::tuple<Bf16, Tf32>;
using SpecialProductPolicies = std::tuple<Bf16>;
using NarrowSumPolicies = std::tuple<F16Sums>;
using AttentionPolicies = std::tuple<F16>;
using AttentionEdgePolicies = std::tuple<F16>;
using AttentionOfMixedDtypesPolicies = std::tuple<Bf16>;
using AttentionRangePolicies = std::tuple<F16UpcastAttention>;
using AttentionOperandRangePolicies = std::tuple<F16InF32Saturate>;
using NormPolicies = std::tuple<Bf16>;
using NormParameterPolicies = std::tuple<Bf16OfF32>;
using PointwisePolicies = std::tuple<Bf16OfE4m3>;
using PlainPolicies = std::tuple<Bf16>;
using PytorchPolicies = std::tuple<F32>;
using BlockPolicies = std::tuple<BlocksInBf16>;

#else

/// For products: storages, operands and results in every combination of kind, the same, narrower, wider, and
/// widened to f32.
using ProductPolicies =
    std::tuple<F32, Bf16, F16, E4m3, E5m2, Tf32, Bf16OfF32, Bf16OfF16, F16OfE4m3, F16OfBf16InF32,
               E4m3OfF32InF32, Bf16UpcastProducts, F16UpcastProducts, F16Sums, Bf16SumsInF32>;

/// For products of what is not finite: each kind of kernel.
using SpecialProductPolicies = std::tuple<F32, Bf16, F16, Tf32, F16Sums>;

/// For products whose sums are narrower than f32.
using NarrowSumPolicies = std::tuple<F16Sums, Bf16SumsInF32, Tf32SumsOfF16InF32, E5m2SumsInF32>;

/// For attention: scores in memory and not, in each dtype of operands, upcast, narrow sums.
using AttentionPolicies = std::tuple<F32, F32Flash, Bf16, Bf16Flash, F16, F16Flash, F16UpcastAttention,
                                     F16UpcastAttentionFlash, Tf32, Tf32Flash, Tf32OfBf16Flash,
                                     Bf16OfF32InF32Flash, E5m2OfBf16, E4m3OfBf16Flash, F16Sums, Bf16InF32>;

/// For attention's edges, which depend on the kernel and the dtype of operands.
using AttentionEdgePolicies = std::tuple<F32, F32Flash, Bf16, Bf16Flash, F16, F16Flash, Tf32Flash>;

/// For attention of queries, keys and values of several dtypes, each of which is a kernel of its own.
using AttentionOfMixedDtypesPolicies = std::tuple<Bf16, Bf16Flash>;

/// For attention of operands above the range of its results.
using AttentionRangePolicies =
    std::tuple<F16UpcastAttention, F16UpcastAttentionFlash, F16SaturateUpcastAttentionFlash>;

/// For attention of values above the range of its operands.
using AttentionOperandRangePolicies =
    std::tuple<F16InF32, F16InF32Saturate, F16InF32SaturateFlash, E4m3OfBf16InF32Saturate>;

/// For norms, softmax and position embeddings, which take values as they come.
using NormPolicies = std::tuple<F32, Bf16, F16, Bf16OfE4m3, Bf16InF32>;

/// Parameters that are wider and narrower than values, by two and by four.
using NormParameterPolicies = std::tuple<Bf16OfF32, Bf16OfE4m3, Policy<Storage<fp8_e4m3>, Compute<f32>>>;

/// For ops of single values: results of each dtype, and storage in fp8.
using PointwisePolicies = std::tuple<F32, Bf16, F16, Bf16OfE4m3>;

/// One of each width, for what depends on the width of a value alone.
using PlainPolicies = std::tuple<F32, Bf16, F16>;

/// What PyTorch's ops compute in. Its attention keeps scores in f32, as flash attention does and plain
/// attention in a half precision does not: there the policies have Flash or Upcast<Attention>.
using PytorchPolicies = std::tuple<F32, F32Flash, Bf16Flash, F16Flash, F16UpcastAttention>;

/// For weights in blocks: operands that are multiplied in 16 bits and as f32, and sums of 16 bits.
using BlockPolicies = std::tuple<BlocksInBf16, BlocksInF32, BlocksInF16Sums>;

#endif

template <class... Ps>
auto those_that_sum_in_f32(std::tuple<Ps...>*) -> decltype(std::tuple_cat(
    std::conditional_t<std::is_same_v<typename precisions<Ps, Matmul>::accumulate, f32> &&
                           std::is_same_v<typename precisions<Ps, Conv>::accumulate, f32>,
                       std::tuple<Ps>, std::tuple<>>()...));

/// For products whose sums are exact where they are integers.
using ExactSumPolicies = decltype(those_that_sum_in_f32(static_cast<ProductPolicies*>(nullptr)));

}  // namespace precast::testing
