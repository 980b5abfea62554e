// Plain attention's kernels in the emulator: against float64 and the host's kernels, scores that overflow,
// and the probe that finds them.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <simt/session.hpp>

#include <precast/host/plain_attention.hpp>

#include "attention_cases.hpp"

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
using F16Upcast = Policy<Storage<f16>, Upcast<Attention>>;
using Tf32 = Policy<Storage<f32>, Compute<tf32>>;
using Fp8 = Policy<Storage<bf16>, Compute<fp8_e5m2>>;
using F16Sums = Policy<Storage<f16>, Accumulate<f16>>;
using Bf16InF32 = Policy<Storage<bf16>, Activation<f32>>;
using F16Saturate = Policy<Storage<f16>, Overflow<Saturate>>;

}  // namespace

TEMPLATE_TEST_CASE("plain attention follows its definition", "[attention]", F32, Bf16, F16, F16Upcast, Tf32,
                   Fp8, F16Sums, Bf16InF32) {
  CHECK(wrong_in_any<TestType>() == "");
  CHECK(wrong_in<TestType>({1, 1, 9, 20, 300}) == "");
}

TEMPLATE_TEST_CASE("plain attention's edges", "[attention]", F32, Bf16, F16) {
  CHECK(nothing_is_nothing<TestType>());
  CHECK(hidden_rows_are_zeros<TestType>());
  CHECK(specials_reach_their_rows<TestType>());
  CHECK(slices_are_like_wholes<TestType>(10));
  CHECK(slices_are_like_wholes<TestType>(8));
}

TEST_CASE("what a bias hides stays hidden where plain attention saturates", "[attention]") {
  CHECK(hidden_rows_are_zeros<F16Saturate>());
}

TEST_CASE("plain attention's f16 scores overflow, unless f32 holds them or they saturate", "[attention]") {
  const AttentionCase c{1, 1, 20, 30, 64};
  AttentionInputs<f16> in(c);
  // Every score is about 100 * 100 * 64 / 8 = 80,000: one number for a whole row, which a softmax does not
  // feel.
  in.q = random_tensor<f16>(in.q.shape(), 1, 0.05, 100);
  in.k = random_tensor<f16>(in.k.shape(), 2, 0.05, 100);
  for (const double value : wide(attention_of<F16>(c, in))) CHECK(std::isnan(value));
  const AttentionReference<precisions<F16Upcast, Attention>> reference(c, in.q, in.k, in.v, in.bias, false);
  CHECK(outside(attention_of<F16Upcast>(c, in), reference.values,
                [&](std::size_t i) { return reference.bounds[i]; }) == "");
  for (const double value : wide(attention_of<F16Saturate>(c, in))) CHECK(std::isfinite(value));
  // One score that overflows makes its own row NaN, and no other.
  in.q = random_tensor<f16>(in.q.shape(), 4);
  for (std::int64_t d = 0; d < 64; ++d) in.q.data()[7 * 64 + d] = from_double<f16>(200);
  const auto rows = wide(attention_of<F16>(c, in));
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::isnan(rows[i]) == (i / 64 == 7));
}

TEST_CASE("plain attention with f16 sums rounds them where the host does", "[attention]") {
  // Every sum is in the order of its terms on both sides; only the exponentials' last bits differ.
  const AttentionCase c{1, 1, 20, 70, 40};
  const AttentionInputs<f16> in(c);
  Tensor<f16> host(in.q.shape());
  host::plain_attention<precisions<F16Sums, Attention>>(problem_of(c, in.bias), in.q.view(), in.k.view(),
                                                        in.v.view(), host.view());
  const auto ours = wide(attention_of<F16Sums>(c, in)), theirs = wide(host);
  std::size_t same = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) same += ours[i] == theirs[i];
  CHECK(same * 10 > ours.size() * 9);
}

TEST_CASE("plain attention gives the same bits whatever its scratch holds at once", "[attention]") {
  const AttentionCase c{2, 2, 70, 33, 24};
  const AttentionInputs<bf16> in(c);
  using Types = precisions<Bf16, Attention>;
  const auto whole = attention_of<Bf16>(c, in);
  for (const std::int64_t stored_bytes : {1, 3 * 64 * 40 * 2}) {
    Tensor<bf16> out(in.q.shape());
    cuda::plain_attention<Types>(problem_of(c, in.bias), in.q.view(), in.k.view(), in.v.view(), out.view(),
                                 {}, stored_bytes);
    CHECK(same_bits(out, whole));
  }
}

TEMPLATE_TEST_CASE("plain attention loads matrices without bank conflicts", "[attention]", Bf16, F16) {
  const AttentionCase c{1, 1, 17, 70, 100};
  const simt::Session session;
  attention_of<TestType>(c, AttentionInputs<typename TestType::activation>(c));
  for (const auto& launch : session.launches()) {
    CHECK((launch.matrix_loads > 0) == (launch.kernel != "attention_weights"));
    CHECK(launch.bank_conflicts == 0);
  }
}

TEMPLATE_TEST_CASE("the largest score is the one of f32 scores, NaN passed over", "[attention]", f32, bf16,
                   f16) {
  for (const AttentionCase& c : {AttentionCase{2, 2, 70, 75, 24},
                                 {1, 2, 33, 70, 16, true, true},
                                 {1, 1, 3, 0, 8},
                                 {1, 1, 0, 5, 8},
                                 {1, 1, 5, 5, 7, false, false, -0.5f}}) {
    AttentionInputs<TestType> in(c);
    for (std::int64_t i = 0; i < in.bias.elements(); ++i) in.bias.data()[i] = static_cast<f32>(i % 7);
    if (in.q.elements() > 30) in.q.data()[5] = from_double<TestType>(std::nan(""));
    const AttentionProblem problem = problem_of(c, in.bias);
    const View<const TestType> q = in.q.view(), k = in.k.view();
    const f32 host = host::largest_score(problem, q, k), ours = cuda::largest_score(problem, q, k, {});
    const double terms = static_cast<double>(c.width) + 2;
    CHECK(std::abs(ours - host) <= 2 * terms * unit<f32> * 6 * 6 * terms);
    CHECK((host > 0) == (ours > 0));
  }
  AttentionCase c{1, 1, 5, 5, 8};
  AttentionInputs<TestType> in(c);
  in.k.data()[3] = from_double<TestType>(HUGE_VAL);
  CHECK(cuda::largest_score<TestType, TestType>(problem_of(c, in.bias), in.q.view(), in.k.view(), {}) ==
        infinite);
}
