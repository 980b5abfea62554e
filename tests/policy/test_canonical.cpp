// A policy is a set: order and spelling leave one type, and what is not said has a default.
#include <type_traits>

#include <catch2/catch.hpp>
#include <support/stored_only.hpp>

#include <precast/policy/policy.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;

namespace {

template <class A, class B>
inline constexpr bool same = std::is_same_v<A, B>;

// All six orders of three options are one type.
using Ordered = Policy<Storage<bf16>, Compute<f16>, Upcast<Attention>>;
static_assert(same<Ordered, Policy<Storage<bf16>, Upcast<Attention>, Compute<f16>>>);
static_assert(same<Ordered, Policy<Compute<f16>, Storage<bf16>, Upcast<Attention>>>);
static_assert(same<Ordered, Policy<Compute<f16>, Upcast<Attention>, Storage<bf16>>>);
static_assert(same<Ordered, Policy<Upcast<Attention>, Storage<bf16>, Compute<f16>>>);
static_assert(same<Ordered, Policy<Upcast<Attention>, Compute<f16>, Storage<bf16>>>);

// Saying a default changes nothing.
static_assert(same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Compute<bf16>>>);
static_assert(same<Policy<Storage<bf16>>, Policy<Accumulate<f32>, Storage<bf16>>>);
static_assert(same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Activation<bf16>>>);
static_assert(same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Upcast<>>>);
static_assert(same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Overflow<Propagate>>>);

// Upcast is a set of op classes.
static_assert(
    same<Policy<Storage<f16>, Upcast<Attention, Matmul>>, Policy<Storage<f16>, Upcast<Matmul, Attention>>>);

// Downcast is one too, and stands beside Upcast of other classes in any order.
static_assert(
    same<Policy<Storage<f16>, Downcast<Norm, Softmax>>, Policy<Downcast<Softmax, Norm>, Storage<f16>>>);
static_assert(same<Policy<Storage<f16>, Downcast<Norm>, Upcast<Attention>>,
                   Policy<Upcast<Attention>, Downcast<Norm>, Storage<f16>>>);
static_assert(same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Downcast<>>>);

// What differs is another type.
static_assert(!same<Policy<Storage<bf16>>, Policy<Storage<f16>>>);
static_assert(!same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Flash>>);
static_assert(!same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Compute<f32>>>);
static_assert(!same<Policy<Storage<bf16>>, Policy<Storage<bf16>, Upcast<Matmul>>>);
static_assert(!same<Policy<Storage<f16>>, Policy<Storage<f16>, Overflow<Saturate>>>);
static_assert(!same<Policy<Storage<f16>, Upcast<Matmul>>, Policy<Storage<f16>, Upcast<Conv>>>);
static_assert(!same<Policy<Storage<f16>, Upcast<Matmul>>, Policy<Storage<f16>, Downcast<Matmul>>>);
static_assert(!same<Policy<Storage<f16>>, Policy<Storage<f16>, Downcast<Norm>>>);

// Defaults. Compute: Storage's dtype; bf16 for blocks. Activation: Compute's; f32 for tf32, bf16 for fp8.
using Block = precast::testing::StoredOnly;

template <class... Ts>
struct Types {};
template <class P, class... Expected>
inline constexpr bool is =
    same<Types<typename P::storage, typename P::compute, typename P::accumulate, typename P::activation>,
         Types<Expected...>>;

static_assert(is<Policy<Storage<f32>>, f32, f32, f32, f32>);
static_assert(is<Policy<Storage<bf16>>, bf16, bf16, f32, bf16>);
static_assert(is<Policy<Storage<f16>>, f16, f16, f32, f16>);
static_assert(is<Policy<Storage<fp8_e4m3>>, fp8_e4m3, fp8_e4m3, f32, bf16>);
static_assert(is<Policy<Storage<fp8_e5m2>>, fp8_e5m2, fp8_e5m2, f32, bf16>);
static_assert(is<Policy<Storage<Block>>, Block, bf16, f32, bf16>);
static_assert(is<Policy<Storage<Block>, Compute<f16>>, Block, f16, f32, f16>);
static_assert(is<Policy<Storage<f32>, Compute<tf32>>, f32, tf32, f32, f32>);
static_assert(is<Policy<Storage<f32>, Compute<bf16>, Activation<f32>>, f32, bf16, f32, f32>);
static_assert(is<Policy<Storage<bf16>, Accumulate<bf16>>, bf16, bf16, bf16, bf16>);

static_assert(!Policy<Storage<f32>>::flash && Policy<Flash, Storage<f32>>::flash);
static_assert(!Policy<Storage<f16>>::saturate && Policy<Storage<f16>, Overflow<Saturate>>::saturate);
static_assert(Policy<Storage<f16>, Upcast<Attention>>::upcasts<Attention>);
static_assert(!Policy<Storage<f16>, Upcast<Attention>>::upcasts<Matmul>);
static_assert(Policy<Storage<f16>, Downcast<Norm>>::downcasts<Norm>);
static_assert(!Policy<Storage<f16>, Downcast<Norm>>::upcasts<Norm>);
static_assert(!Policy<Storage<f16>, Downcast<Norm>>::downcasts<Softmax>);

static_assert(PolicyType<presets::Fast>);
static_assert(!PolicyType<f32> && !PolicyType<const f32&>);

// Presets are what design.md calls them.
static_assert(same<presets::Quality, Policy<Storage<f32>>>);
static_assert(same<presets::Balanced, Policy<Flash, Storage<f32>>>);
static_assert(same<presets::Fast, Policy<Flash, Storage<bf16>>>);
static_assert(same<presets::Memory, Policy<Upcast<Attention>, Storage<f16>>>);

// Mixed: a policy for each component, in any order.
using Mix = Mixed<Transformer<presets::Fast>, TextEncoder<presets::Memory>, Vae<presets::Quality>>;
static_assert(
    same<Mix, Mixed<Vae<presets::Quality>, TextEncoder<presets::Memory>, Transformer<presets::Fast>>>);
static_assert(same<Mix::transformer, presets::Fast> && same<Mix::text_encoder, presets::Memory> &&
              same<Mix::vae, presets::Quality>);
static_assert(
    !same<Mix, Mixed<Transformer<presets::Memory>, TextEncoder<presets::Fast>, Vae<presets::Quality>>>);

}  // namespace

TEST_CASE("the policy algebra holds at compile time") {
  SUCCEED("checked by the static_asserts of this file");
}
