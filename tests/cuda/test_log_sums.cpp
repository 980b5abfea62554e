// The logarithms of rows' sums, as attention's kernels store them for its gradients: in the launches that
// attention takes without them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>

#include <precast/cuda/attention/attention_gradient.hpp>

#include "attention_runs.hpp"

using namespace precast;
using namespace precast::testing;

namespace {

/// A bias; fewer heads of keys and causal; another scale; wider values; a scale that turns the order of
/// scores; heads that no tile of flash attention holds; rows that see no key.
const std::vector<AttentionCase> cases{
    {1, 2, 20, 70, 40, false, true},
    with_heads({2, 4, 70, 150, 64, true}, 2, 64),
    {1, 1, 33, 129, 128, false, false, 3.0f},
    with_heads({1, 1, 9, 35, 24}, 1, 104),
    {1, 2, 5, 70, 64, false, false, -0.5f},
    {1, 1, 5, 70, 64, true, false, 0.0f},
    {1, 1, 5, 9, 264},
    {1, 2, 5, 0, 64},
};

HostTensor<f32> unwritten_log_sums(const AttentionCase& c) {
  return filled<f32>(Shape{c.batch, c.heads, c.queries}, std::nan(""));
}

template <class P>
void check_log_sums(const AttentionCase& c, Architecture architecture) {
  using A = typename P::activation;
  CAPTURE(c.queries, c.keys, c.width, architecture == Architecture::sm_90);
  const AttentionInputs<A> in(c);
  const AttentionReference<precisions<P, Attention>> reference(c, in, P::flash);
  HostTensor<f32> log_sums = unwritten_log_sums(c);
  const auto out = attention_of<P>(c, in, architecture, gpu::pointer_to(on_device(log_sums)));
  CHECK(outside(log_sums, reference.log_sums, [&](std::size_t i) { return reference.log_sum_bounds[i]; }) ==
        "");
  CHECK(same_bits(out, attention_of<P>(c, in, architecture)));
}

/// The names of the kernels that `run` launches.
template <class F>
std::vector<std::string> launched_by(const F& run) {
  const simt::Session session;
  run();
  std::vector<std::string> names;
  for (const auto& launch : session.launches()) names.push_back(launch.kernel);
  return names;
}

}  // namespace

TEMPLATE_TEST_CASE("attention stores the logarithms of rows' sums", "[attention]", F32, F16, F32Flash,
                   Bf16Flash, Tf32Flash) {
  for (const AttentionCase& c : cases) {
    check_log_sums<TestType>(c, Architecture::sm_80);
    if constexpr (std::is_same_v<TestType, Bf16Flash>) check_log_sums<TestType>(c, Architecture::sm_90);
  }
}

// Nothing but the nearest f32 of the logarithm is lost, though exponents are of scores times log2(e).
TEMPLATE_TEST_CASE("logarithms of sums are rounded once", "[attention]", F32, F32Flash, Bf16Flash) {
  using A = typename TestType::activation;
  constexpr std::int64_t rows = 64, keys = 70, width = 64;
  const AttentionCase c{1, 1, rows, keys, width, false, false, 1.0f};
  AttentionInputs<A> in(c);
  std::vector<double> expected;
  // Equal scores of every row, multiples of 1032, which products have exactly.
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t d = 0; d < width; ++d)
      in.q.data()[i * width + d] = from_double<A>(d == 0 ? static_cast<double>(i - 20) : 0.0);
  for (std::int64_t i = 0; i < in.k.elements(); ++i) in.k.data()[i] = from_double<A>(1032);
  for (std::int64_t i = 0; i < rows; ++i)
    expected.push_back(static_cast<double>(i - 20) * 1032 + std::log(static_cast<double>(keys)));
  for (const auto architecture : {Architecture::sm_80, Architecture::sm_90}) {
    HostTensor<f32> log_sums = unwritten_log_sums(c);
    attention_of<TestType>(c, in, architecture, gpu::pointer_to(on_device(log_sums)));
    // `outside` grants the rounding itself.
    CHECK(outside(log_sums, expected, [](std::size_t) { return 8 * unit<f32>; }) == "");
  }
}

TEMPLATE_TEST_CASE("attention in training launches what attention alone does", "[attention]", F32, F16,
                   F32Flash, Bf16Flash) {
  using A = typename TestType::activation;
  using Types = precisions<TestType, Attention>;
  const AttentionCase c{1, 2, 20, 70, 64, true};
  const AttentionInputs<A> in(c);
  const AttentionProblem problem = problem_of(c, in.bias);
  HostTensor<A> out(in.q.shape()), alone(out.shape());
  HostTensor<f32> log_sums = unwritten_log_sums(c);
  const auto heads = [](auto& rows) { return split_heads(on_device(rows), 2); };
  const auto training = launched_by([&] {
    gpu::attention_with_log_sums<Types, TestType::flash, EveryAttention, A, A, A>(
        problem, heads(in.q), heads(in.k), heads(in.v), heads(out), on_device(log_sums), {});
  });
  CHECK(training == launched_by([&] {
          if constexpr (TestType::flash)
            gpu::flash_attention<Types>(problem, heads(in.q), heads(in.k), heads(in.v), heads(alone), {});
          else
            gpu::plain_attention<Types>(problem, heads(in.q), heads(in.k), heads(in.v), heads(alone), {});
        }));
  CHECK(training.size() == (TestType::flash ? 1 : 3));
  CHECK(same_bits(out, alone));
}
