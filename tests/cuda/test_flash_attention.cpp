// Flash attention's kernel in the emulator: against float64 by the criterion of the host's tests, for every
// dtype of operands, every tile and odd sizes.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <simt/session.hpp>

#include "attention_cases.hpp"

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>, Flash>;
using Bf16 = Policy<Storage<bf16>, Flash>;
using F16 = Policy<Storage<f16>, Flash>;
using F16Upcast = Policy<Storage<f16>, Upcast<Attention>, Flash>;
using Tf32 = Policy<Storage<f32>, Compute<tf32>, Flash>;
using Tf32OfBf16 = Policy<Storage<bf16>, Compute<tf32>, Activation<bf16>, Flash>;
using Bf16OfF32 = Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Flash>;
using Fp8 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Flash>;
using Saturating = Policy<Storage<f16>, Overflow<Saturate>, Flash>;

}  // namespace

TEMPLATE_TEST_CASE("flash attention follows its definition", "[attention]", F32, Bf16, F16, F16Upcast, Tf32,
                   Tf32OfBf16, Bf16OfF32, Fp8) {
  CHECK(wrong_in_any<TestType>() == "");
}

TEMPLATE_TEST_CASE("flash attention of wide heads, in the tiles of every architecture", "[attention]", F32,
                   Bf16, F16, Tf32) {
  using Operand = typename precisions<TestType, Attention>::operand;
  for (const std::int64_t width : {64, 96, 128, 160, 256}) {
    std::vector<cuda::FlashAttentionTile> tried;
    for (const Architecture architecture : cuda::all_architectures) {
      const auto tile = cuda::select_flash_attention<Operand>(architecture, static_cast<int>(width), false);
      CHECK(cuda::flash_attention_bytes<Operand>(tile, static_cast<int>(width)) <=
            cuda::limits_of(architecture).shared_per_block);
      if (std::find(tried.begin(), tried.end(), tile) != tried.end()) continue;
      tried.push_back(tile);
      CHECK(wrong_in<TestType>({1, 1, 20, 150, width}, architecture) == "");
    }
  }
  CHECK(wrong_in<TestType>({1, 1, 5, 40, 256, true, true}) == "");
  CHECK(wrong_in<TestType>({1, 1, 5, 40, 300}) == "");  // by the plain kernels
}

TEMPLATE_TEST_CASE("flash attention's edges", "[attention]", F32, Bf16, F16, Tf32) {
  CHECK(nothing_is_nothing<TestType>());
  CHECK(hidden_rows_are_zeros<TestType>());
  CHECK(specials_reach_their_rows<TestType>());
  CHECK(slices_are_like_wholes<TestType>(10));
  CHECK(slices_are_like_wholes<TestType>(8));
}

TEST_CASE("flash attention's f16 scores do not overflow, and its results saturate where asked",
          "[attention]") {
  const AttentionCase c{1, 1, 20, 30, 64};
  AttentionInputs<f16> in(c);
  // Every score is about 100 * 100 * 64 / 8 = 80,000.
  in.q = random_tensor<f16>(in.q.shape(), 1, 0.05, 100);
  in.k = random_tensor<f16>(in.k.shape(), 2, 0.05, 100);
  for (const double value : wide(attention_of<F16>(c, in))) CHECK(std::isfinite(value));
  Tensor<f32> large(in.v.shape());
  std::fill(large.values().begin(), large.values().end(), 1e5f);
  const auto with_large = [&](auto policy) {
    using P = decltype(policy);
    Tensor<f16> out(in.q.shape());
    run_attention<P>(problem_of(c, in.bias), std::as_const(in.q).view(), std::as_const(in.k).view(),
                     std::as_const(large).view(), out.view());
    return wide(out);
  };
  // 1e5 is an operand only where those are f32.
  for (const double value : with_large(F16Upcast{})) CHECK(value == HUGE_VAL);
  for (const double value : with_large(Policy<Storage<f16>, Upcast<Attention>, Overflow<Saturate>, Flash>{}))
    CHECK(value == 65504);
}

TEST_CASE("flash attention takes queries, keys and values of three dtypes", "[attention]") {
  const AttentionCase c{1, 1, 30, 70, 40};
  const AttentionInputs<bf16> in(c);
  const auto widened = [](const Tensor<bf16>& x) {
    Tensor<f32> wide(x.shape());
    for (std::int64_t i = 0; i < x.elements(); ++i) wide.data()[i] = convert<f32>(x.data()[i]);
    return wide;
  };
  const Tensor<f32> q = widened(in.q), v = widened(in.v);
  Tensor<bf16> out(q.shape());
  run_attention<Bf16>(problem_of(c, in.bias), q.view(), in.k.view(), v.view(), out.view());
  CHECK(same_bits(out, attention_of<Bf16>(c, in)));
}

TEMPLATE_TEST_CASE("flash attention loads matrices without bank conflicts", "[attention]", Bf16, F16, Tf32) {
  for (const std::int64_t width : {32, 64, 96, 128, 160, 256}) {
    const AttentionCase c{1, 1, 17, 70, width};
    const simt::Session session;
    attention_of<TestType>(c, AttentionInputs<typename TestType::activation>(c));
    REQUIRE(session.launches().size() == 1);
    CHECK(session.launches()[0].matrix_loads > 0);
    CHECK(session.launches()[0].bank_conflicts == 0);
  }
}
