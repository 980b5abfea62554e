// Plain attention's kernels in the emulator: sums rounded where the host's are, their scratch memory, and the
// probe that finds scores that overflow. Their results in all else are tested as the op's, in tests/op_cases.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>
#include <simt/stream.hpp>

#include <precast/cuda/attention/largest_score.hpp>
#include <precast/host/attention/plain_attention.hpp>

#include "attention_runs.hpp"

using namespace precast;
using namespace precast::testing;

TEST_CASE("plain attention with f16 sums rounds them where the host does", "[attention]") {
  // Every sum is in the order of its terms on both sides; only the exponentials' last bits differ.
  const AttentionCase c{1, 1, 20, 70, 40};
  const AttentionInputs<f16> in(c);
  HostTensor<f16> host(in.q.shape());
  host::plain_attention<precisions<F16Sums, Attention>, EveryAttention>(
      problem_of(c, in.bias), split_heads(std::as_const(in.q).view(), 1),
      split_heads(std::as_const(in.k).view(), 1), split_heads(std::as_const(in.v).view(), 1),
      split_heads(host.view(), 1));
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
    HostTensor<bf16> out(in.q.shape());
    gpu::attention_by_stored_scores<Types>(problem_of(c, in.bias), split_heads(on_device(in.q), c.heads),
                                           split_heads(on_device(in.k), c.heads),
                                           split_heads(on_device(in.v), c.heads),
                                           split_heads(on_device(out), c.heads), {}, nullptr, stored_bytes);
    CHECK(same_bits(out, whole));
  }
}

TEMPLATE_TEST_CASE("plain attention stores no scores that nothing rounds", "[attention]", bf16, f16) {
  const AttentionCase c{1, 2, 20, 70, 40, true};
  const AttentionInputs<TestType> in(c);
  const auto launched = [&]<class Types>(const Types*) {
    HostTensor<typename Types::result> out(in.q.shape());
    const simt::Session session;
    gpu::plain_attention<Types>(problem_of(c, in.bias), split_heads(on_device(in.q), 2),
                                split_heads(on_device(in.k), 2), split_heads(on_device(in.v), 2),
                                split_heads(on_device(out), 2), {});
    return session.launches().at(0).kernel;
  };
  using InF32 = OpDtypes<TestType, f32, f32, f32, TestType>;
  CHECK(launched(static_cast<const InF32*>(nullptr)) == "flash_attention");
  using ScoresOfItsOwn = OpDtypes<TestType, f32, f32, TestType, TestType>;
  CHECK(launched(static_cast<const ScoresOfItsOwn*>(nullptr)) == "attention_scores");
  using OfItsOwn = OpDtypes<TestType, TestType, f32, f32, TestType>;
  CHECK(launched(static_cast<const OfItsOwn*>(nullptr)) == "attention_scores");
  using Saturated = OpDtypes<TestType, f32, f32, f32, TestType, true>;
  CHECK(launched(static_cast<const Saturated*>(nullptr)) == "attention_scores");
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

TEMPLATE_TEST_CASE("the largest score is the one of f32 scores, NaN and masked ones passed over",
                   "[attention]", f32, bf16, f16) {
  for (const AttentionCase& c : {AttentionCase{2, 2, 70, 75, 24},
                                 {1, 2, 33, 70, 16, true, true},
                                 {1, 1, 3, 0, 8},
                                 {1, 1, 0, 5, 8},
                                 {1, 1, 5, 5, 7, false, false, -0.5f},
                                 with_heads({2, 4, 33, 20, 16}, 2, 8)}) {
    AttentionInputs<TestType> in(c);
    for (std::int64_t i = 0; i < in.bias.elements(); ++i) in.bias.data()[i] = static_cast<f32>(i % 7);
    if (in.bias.elements() > 0) in.bias.data()[1] = -HUGE_VALF;
    if (in.q.elements() > 30) in.q.data()[5] = from_double<TestType>(std::nan(""));
    const AttentionProblem problem = problem_of(c, in.bias);
    const HostView<const TestType> q = in.q.view(), k = in.k.view();
    const f32 host = host::largest_score(problem, split_heads(q, c.heads), split_heads(k, c.kv_heads())),
              ours = gpu::largest_score(problem, split_heads(on_device(q), c.heads),
                                        split_heads(on_device(k), c.kv_heads()), {});
    const double terms = static_cast<double>(c.width) + 2;
    CHECK(std::abs(ours - host) <= 2 * terms * unit<f32> * 6 * 6 * terms);
    CHECK((host > 0) == (ours > 0));
  }
  AttentionCase c{1, 1, 5, 5, 8};
  AttentionInputs<TestType> in(c);
  in.k.data()[3] = from_double<TestType>(HUGE_VAL);
  CHECK(gpu::largest_score<TestType, TestType>(problem_of(c, in.bias), split_heads(on_device(in.q), 1),
                                               split_heads(on_device(in.k), 1), {}) == HUGE_VALF);
}

TEST_CASE("plain attention's scores belong to the stream that it is given", "[stream]") {
  const gpu::Stream stream = simt::make_stream();
  const AttentionCase c{1, 1, 5, 6, 8};
  const AttentionInputs<bf16> in(c);
  HostTensor<bf16> out(in.q.shape());
  const auto problem = problem_of(c, in.bias);
  gpu::plain_attention<precisions<Bf16, Attention>>(
      problem, split_heads(on_device(in.q), 1), split_heads(on_device(in.k), 1),
      split_heads(on_device(in.v), 1), split_heads(on_device(out), 1), stream);
  CHECK_NOTHROW(simt::wait_for_device());
  (void)gpu::largest_score(problem, split_heads(on_device(in.q), 1), split_heads(on_device(in.k), 1), stream);
  CHECK_NOTHROW(simt::wait_for_device());
}
