// The op table, row by row: each expectation is docs/design.md's precision model written out, not computed.
#include <string>
#include <string_view>
#include <type_traits>

#include <catch2/catch.hpp>
#include <support/stored_only.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;

namespace {

using Block = precast::testing::StoredOnly;

using None = NoDtype;
using Given = AsGiven;

template <class P, class Op, class S, class O, class A, class I, class R>
inline constexpr bool row = std::is_same_v<precisions<P, Op>, OpDtypes<S, O, A, I, R>>;

using presets::Balanced;
using presets::Fast;
using presets::Memory;
using presets::Quality;

// quality: f32 everywhere.
static_assert(row<Quality, Matmul, f32, f32, f32, None, f32>);
static_assert(row<Quality, Conv, f32, f32, f32, None, f32>);
static_assert(row<Quality, Attention, f32, f32, f32, f32, f32>);
static_assert(row<Quality, Norm, f32, Given, f32, f32, f32>);
static_assert(row<Quality, Softmax, f32, Given, f32, f32, f32>);
static_assert(row<Quality, Reduction, f32, Given, f32, f32, f32>);
static_assert(row<Quality, Loss, f32, Given, f32, f32, f32>);
static_assert(row<Quality, Pointwise, f32, Given, None, f32, f32>);
static_assert(row<Quality, Position, f32, f32, f32, f32, f32>);

// balanced: flash changes no dtype of f32.
static_assert(row<Balanced, Attention, f32, f32, f32, f32, f32>);
static_assert(std::is_same_v<precisions<Balanced, Matmul>, precisions<Quality, Matmul>>);

// fast: bf16, and scores in f32 through flash.
static_assert(row<Fast, Matmul, bf16, bf16, f32, None, bf16>);
static_assert(row<Fast, Conv, bf16, bf16, f32, None, bf16>);
static_assert(row<Fast, Attention, bf16, bf16, f32, f32, bf16>);
static_assert(row<Fast, Norm, bf16, Given, f32, f32, bf16>);
static_assert(row<Fast, Softmax, bf16, Given, f32, f32, f32>);
static_assert(row<Fast, Reduction, bf16, Given, f32, f32, f32>);
static_assert(row<Fast, Loss, bf16, Given, f32, f32, f32>);
static_assert(row<Fast, Pointwise, bf16, Given, None, f32, bf16>);
static_assert(row<Fast, Position, bf16, f32, f32, f32, bf16>);

// memory: f16, attention's operands and scores in f32.
static_assert(row<Memory, Matmul, f16, f16, f32, None, f16>);
static_assert(row<Memory, Conv, f16, f16, f32, None, f16>);
static_assert(row<Memory, Attention, f16, f32, f32, f32, f16>);
static_assert(row<Memory, Norm, f16, Given, f32, f32, f16>);
static_assert(row<Memory, Softmax, f16, Given, f32, f32, f32>);
static_assert(row<Memory, Reduction, f16, Given, f32, f32, f32>);
static_assert(row<Memory, Loss, f16, Given, f32, f32, f32>);
static_assert(row<Memory, Pointwise, f16, Given, None, f32, f16>);
static_assert(row<Memory, Position, f16, f32, f32, f32, f16>);

// Plain attention keeps its scores in Compute: the failure that flash and upcasting cure.
static_assert(row<Policy<Storage<f16>>, Attention, f16, f16, f32, f16, f16>);
static_assert(row<Policy<Storage<bf16>>, Attention, bf16, bf16, f32, bf16, bf16>);
static_assert(row<Policy<Storage<f16>, Flash>, Attention, f16, f16, f32, f32, f16>);

// Upcast: f32 operands and intermediates, the result as before; other classes are left alone.
using UpcastMatmul = Policy<Storage<bf16>, Upcast<Matmul>>;
static_assert(row<UpcastMatmul, Matmul, bf16, f32, f32, None, bf16>);
static_assert(row<UpcastMatmul, Conv, bf16, bf16, f32, None, bf16>);
static_assert(row<UpcastMatmul, Attention, bf16, bf16, f32, bf16, bf16>);
using NarrowSums = Policy<Storage<bf16>, Accumulate<bf16>, Upcast<Matmul>>;
static_assert(row<NarrowSums, Matmul, bf16, f32, f32, None, bf16>);
static_assert(row<NarrowSums, Conv, bf16, bf16, bf16, None, bf16>);
static_assert(row<NarrowSums, Norm, bf16, Given, f32, f32, bf16>);
static_assert(row<NarrowSums, Pointwise, bf16, Given, None, f32, bf16>);

// Downcast: sums and intermediates in Compute, operands and results as before; other classes are left alone.
using Naive = Policy<Storage<f16>, Downcast<Matmul, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>;
static_assert(row<Naive, Matmul, f16, f16, f16, None, f16>);
static_assert(row<Naive, Conv, f16, f16, f32, None, f16>);
static_assert(row<Naive, Attention, f16, f16, f16, f16, f16>);
static_assert(row<Naive, Norm, f16, Given, f16, f16, f16>);
static_assert(row<Naive, Softmax, f16, Given, f16, f16, f32>);
static_assert(row<Naive, Reduction, f16, Given, f16, f16, f32>);
static_assert(row<Naive, Loss, f16, Given, f16, f16, f32>);
static_assert(row<Naive, Pointwise, f16, Given, None, f16, f16>);
static_assert(row<Naive, Position, f16, f32, f32, f32, f16>);
// It is Compute that they fall to, not Storage or Activation; with fp8 what fp8 leaves between ops.
using NaiveBf16 = Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Downcast<Norm, Conv>>;
static_assert(row<NaiveBf16, Norm, f32, Given, bf16, bf16, f32>);
static_assert(row<NaiveBf16, Conv, f32, bf16, bf16, None, f32>);
static_assert(row<Policy<Storage<fp8_e4m3>, Downcast<Norm>>, Norm, fp8_e4m3, Given, bf16, bf16, bf16>);
// Each beside the other.
using Both = Policy<Storage<f16>, Upcast<Attention>, Downcast<Norm>>;
static_assert(row<Both, Attention, f16, f32, f32, f32, f16>);
static_assert(row<Both, Norm, f16, Given, f16, f16, f16>);

// Blocks hold matrices: what a norm multiplies and adds is f32 beside them.
static_assert(row<Policy<Storage<Block>>, Norm, f32, Given, f32, f32, bf16>);
static_assert(row<Policy<Storage<Block>>, Matmul, Block, bf16, f32, None, bf16>);

// tf32 and fp8 are formats of operands: between ops there is f32 or bf16.
using Tf32 = Policy<Storage<f32>, Compute<tf32>>;
static_assert(row<Tf32, Matmul, f32, tf32, f32, None, f32>);
static_assert(row<Tf32, Attention, f32, tf32, f32, f32, f32>);
using Fp8 = Policy<Storage<fp8_e4m3>>;
static_assert(row<Fp8, Matmul, fp8_e4m3, fp8_e4m3, f32, None, bf16>);
static_assert(row<Fp8, Attention, fp8_e4m3, fp8_e4m3, f32, bf16, bf16>);
static_assert(row<Fp8, Norm, fp8_e4m3, Given, f32, f32, bf16>);

// Compute and Activation of one's own.
using Residual32 = Policy<Storage<f16>, Compute<bf16>, Activation<f32>>;
static_assert(row<Residual32, Matmul, f16, bf16, f32, None, f32>);
static_assert(row<Residual32, Attention, f16, bf16, f32, bf16, f32>);
static_assert(row<Residual32, Norm, f16, Given, f32, f32, f32>);

// Overflow<Saturate> reaches every row, and nothing else does.
static_assert(precisions<Policy<Storage<f16>, Overflow<Saturate>>, Matmul>::saturate);
static_assert(precisions<Policy<Storage<f16>, Overflow<Saturate>>, Norm>::saturate);
static_assert(!precisions<Memory, Matmul>::saturate);

// What the watch hook compares with.
static_assert(std::is_same_v<widened_to_f32<precisions<Memory, Matmul>>, OpDtypes<f16, f32, f32, None, f32>>);
static_assert(
    std::is_same_v<widened_to_f32<precisions<Memory, Attention>>, OpDtypes<f16, f32, f32, f32, f32>>);
static_assert(std::is_same_v<widened_to_f32<precisions<Naive, Norm>>, OpDtypes<f16, Given, f32, f32, f32>>);
static_assert(
    std::is_same_v<widened_to_f32<precisions<Naive, Pointwise>>, OpDtypes<f16, Given, None, f32, f32>>);
// In f32 there is nothing to widen, and no kernel is stamped twice.
static_assert(std::is_same_v<widened_to_f32<precisions<Quality, Norm>>, precisions<Quality, Norm>>);
static_assert(std::is_same_v<widened_to_f32<precisions<Quality, Matmul>>, precisions<Quality, Matmul>>);

// Cells as tables and traces print them.
static_assert(dtype_name<AsGiven>() == "as given" && dtype_name<NoDtype>().empty() &&
              dtype_name<bf16>() == "bf16");

}  // namespace

TEST_CASE("the op table holds at compile time") { SUCCEED("checked by the static_asserts of this file"); }

TEST_CASE("the op classes are visited in the order of the table, each with its own bit") {
  std::string names;
  std::uint32_t bits = 0;
  AllOpClasses::for_each([&]<class Op>(Op) {
    static_assert(OpClass<Op>);
    names += std::string(Op::name) + " ";
    CHECK((bits & AllOpClasses::bit<Op>) == 0);
    bits |= AllOpClasses::bit<Op>;
  });
  CHECK(names == "Matmul Conv Attention Norm Softmax Reduction Loss Pointwise Position ");
  CHECK(bits == (1u << AllOpClasses::count) - 1);
}
