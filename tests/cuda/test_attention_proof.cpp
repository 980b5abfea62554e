// The proof of attention's kernels: nothing fails under any schedule, and every barrier, wait and planted
// fault is missed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/attention_runs.hpp>
#include <cuda/check_proof.hpp>
#include <support/narrow_reference.hpp>

#include <precast/cuda/attention/largest_score.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Cases of values of A whose inputs and bounds are made once.
template <class P, class A = typename P::activation>
class Checks {
 public:
  explicit Checks(const std::vector<AttentionCase>& cases, Architecture architecture = Architecture::sm_80)
      : architecture_(architecture) {
    for (const AttentionCase& c : cases) {
      AttentionInputs<A> in(c);
      // Scores rise along the keys, so that maxima move from tile to tile.
      for (std::int64_t i = 0; i < in.k.elements(); ++i)
        in.k.data()[i] = from_double<A>(to_double(in.k.data()[i]) *
                                        (1 + static_cast<double>(i) / static_cast<double>(in.k.elements())));
      AttentionReference<precisions<P, Attention>> reference(c, in, P::flash);
      checks_.push_back({c, std::move(in), std::move(reference)});
    }
  }
  bool pass() const {
    for (const Check& check : checks_) {
      const AttentionCase& c = check.of;
      HostTensor<f32> log_sums = filled<f32>(Shape{c.batch, c.heads, c.queries}, std::nan(""));
      const auto result = attention_of<P>(c, check.in, architecture_, gpu::pointer_to(on_device(log_sums)));
      const auto& reference = check.reference;
      if (!outside(result, reference.values, reference.bound()).empty() ||
          !outside(log_sums, reference.log_sums, [&](std::size_t i) {
             return reference.log_sum_bounds[i];
           }).empty())
        return false;
    }
    return true;
  }

 private:
  struct Check {
    AttentionCase of;
    AttentionInputs<A> in;
    AttentionReference<precisions<P, Attention>> reference;
  };
  std::vector<Check> checks_;
  Architecture architecture_;
};

/// Whether scores, and sums of weighted values, are rounded to f16 at every step, as their row says.
bool narrow_sums_are_exact() {
  using Types = OpDtypes<f32, f16, f16, f32, f32>;
  const auto run = [](const HostTensor<f32>& q, const HostTensor<f32>& k, const HostTensor<f32>& v,
                      f32 scale) {
    HostTensor<f32> out(Shape{1, 1, v.columns()});
    const AttentionProblem problem{.batch = 1,
                                   .heads = 1,
                                   .heads_kv = 1,
                                   .queries = 1,
                                   .keys = k.rows(),
                                   .width = q.columns(),
                                   .width_v = v.columns(),
                                   .scale = scale};
    gpu::plain_attention<Types>(problem, split_heads(on_device(q), 1), split_heads(on_device(k), 1),
                                split_heads(on_device(v), 1), split_heads(on_device(out), 1), {});
    return wide(out);
  };
  // 2048 and 127 times 0.5, which a sum of f16 does not feel one by one, against 2056, in the last stage.
  constexpr std::int64_t width = 129;
  auto q = filled<f32>({1, 1, width}, 0.5), k = filled<f32>({1, 2, width}, 0);
  q.data()[0] = 2048;
  q.data()[width - 1] = 2056;
  std::fill_n(k.data(), width - 1, 1.0f);
  k.data()[2 * width - 1] = 1;
  HostTensor<f32> first_key = filled<f32>({1, 2, 1}, 0);
  first_key.data()[0] = 1;
  if (run(q, k, first_key, 0.0625f)[0] != kept_in<f16>(1 / (1 + std::exp(0.0625 * 8)))) return false;
  // Equal scores: each value has the same weight.
  const auto none = filled<f32>({1, 1, 1}, 0), none_of_keys = filled<f32>({1, 37, 1}, 0);
  const auto v = random_tensor<f32>({1, 37, 1}, 1);
  double sum = 0;
  for (const f32 value : v.values()) sum = kept_in<f16>(sum + kept_in<f16>(1.0 / 37) * kept_in<f16>(value));
  return run(none, none_of_keys, v, 1)[0] == sum;
}

/// Several tiles of keys, more than there are stages; then rows that no vector fits, masked keys and two
/// heads.
const std::vector<AttentionCase> flash_cases{{1, 1, 40, 200, 24}, {1, 2, 20, 37, 7, true}};
/// More tiles of keys than buffers for them; then rows of both warpgroups, and columns of both panels.
const std::vector<AttentionCase> warpgroup_cases{
    {1, 1, 40, 600, 40}, {1, 2, 70, 37, 64, true}, {1, 1, 80, 140, 104}};
/// The same for the stages of each product, and for keys that one lane's scores are not.
const std::vector<AttentionCase> plain_cases{{1, 1, 20, 300, 8}, {1, 1, 20, 9, 200}, {1, 2, 20, 37, 7, true}};

template <class P>
void check_proof_of(const std::string& name) {
  const Checks<P> checks(P::flash ? flash_cases : plain_cases);
  check_proof(name, [&] { return checks.pass(); });
}

}  // namespace

TEST_CASE("proof of flash attention in bf16", "[attention][proof]") {
  const Checks<Policy<Storage<bf16>, Flash>> checks(flash_cases);
  const Checks<Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Flash>> rounded(flash_cases);
  check_proof("flash attention, bf16", [&] { return checks.pass() && rounded.pass(); });
}
/// Values of 16 bits in f32: tensor cores multiply them, and weights in parts. Results keep what parts do.
template <bool UsesFlash>
using InF32 = std::conditional_t<UsesFlash, Policy<Storage<f32>, Flash>, Policy<Storage<f32>>>;

TEST_CASE("proof of flash attention of bf16 and f16 in f32", "[attention][proof]") {
  const Checks<InF32<true>, bf16> checks(flash_cases);
  const Checks<InF32<true>, f16> f16_checks(flash_cases);
  check_proof("flash attention, bf16 and f16 in f32", [&] { return checks.pass() && f16_checks.pass(); });
}
TEST_CASE("proof of flash attention on warpgroups of bf16 and f16 in f32", "[attention][warpgroups][proof]") {
  const Checks<InF32<true>, bf16> checks(warpgroup_cases, Architecture::sm_90);
  const Checks<InF32<true>, f16> f16_checks(warpgroup_cases, Architecture::sm_90);
  check_proof("flash attention on warpgroups, bf16 and f16 in f32",
              [&] { return checks.pass() && f16_checks.pass(); });
}
TEST_CASE("proof of plain attention of bf16 and f16 in f32", "[attention][proof]") {
  const Checks<InF32<false>, bf16> checks(plain_cases);
  const Checks<InF32<false>, f16> f16_checks(plain_cases);
  check_proof("plain attention, bf16 and f16 in f32", [&] { return checks.pass() && f16_checks.pass(); });
}
TEST_CASE("proof of flash attention in tf32", "[attention][proof]") {
  check_proof_of<Policy<Storage<f32>, Compute<tf32>, Flash>>("flash attention, tf32");
}
TEST_CASE("proof of flash attention in f32", "[attention][proof]") {
  check_proof_of<Policy<Storage<f32>, Flash>>("flash attention, f32");
}
TEST_CASE("proof of flash attention on warpgroups in bf16", "[attention][warpgroups][proof]") {
  const Checks<Policy<Storage<bf16>, Flash>> checks(warpgroup_cases, Architecture::sm_90);
  check_proof("flash attention on warpgroups, bf16", [&] { return checks.pass(); });
}
TEST_CASE("proof of plain attention in f16", "[attention][proof]") {
  check_proof_of<Policy<Storage<f16>>>("plain attention, f16");
}
TEST_CASE("proof of plain attention of f32 rows in f16 and its sums", "[attention][proof][many_runs]") {
  const Checks<Policy<Storage<f32>, Compute<f16>, Activation<f32>, Accumulate<f16>>> checks(plain_cases);
  check_proof("plain attention, f32 in f16 and its sums",
              [&] { return checks.pass() && narrow_sums_are_exact(); });
}
TEST_CASE("proof of plain attention in f32", "[attention][proof]") {
  check_proof_of<Policy<Storage<f32>>>("plain attention, f32");
}
TEST_CASE("proof of the largest score", "[attention][proof]") {
  const AttentionCase c{1, 1, 20, 70, 100, true};
  AttentionInputs<f32> in(c);
  // The largest is negative, and seen by the last query alone; one that is larger is hidden from it.
  for (std::int64_t d = 0; d < c.width; ++d) {
    const f32 sign = d / 32 % 2 == 0 ? 1.0f : -1.0f;  // other signs in other stages
    in.q.data()[19 * c.width + d] = 4 * sign;
    in.k.data()[19 * c.width + d] = -4 * sign;
    in.k.data()[20 * c.width + d] = -8 * sign;
  }
  const AttentionProblem problem = problem_of(c, in.bias);
  check_proof("largest score", [&] {
    const f32 expected = 16.0f * 100 / std::sqrt(100.0f);
    const f32 got = gpu::largest_score<f32, f32>(problem, split_heads(on_device(in.q), 1),
                                                 split_heads(on_device(in.k), 1), {});
    return std::abs(got - expected) <= expected * 100 * unit<f32>;
  });
}
