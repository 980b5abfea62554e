// The proof of attention's kernels: nothing fails under any schedule, and every barrier, wait and planted
// fault is missed.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>

#include <precast/cuda/attention/largest_score.hpp>

#include "attention_runs.hpp"

using namespace precast;
using namespace precast::testing;

namespace {

/// Cases whose inputs and bounds are made once.
template <class P>
class Checks {
 public:
  using A = typename P::activation;
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
    for (const Check& check : checks_)
      if (!outside(attention_of<P>(check.of, check.in, architecture_), check.reference.values,
                   check.reference.bound())
               .empty())
        return false;
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

/// Several tiles of keys, more than there are stages; then rows that no vector fits, hidden keys and two
/// heads.
const std::vector<AttentionCase> flash_cases{{1, 1, 40, 200, 24}, {1, 2, 20, 37, 7, true}};
/// More tiles of keys than buffers for them; then rows of both warpgroups, and columns of both panels.
const std::vector<AttentionCase> warpgroup_cases{
    {1, 1, 40, 600, 40}, {1, 2, 70, 37, 64, true}, {1, 1, 80, 140, 104}};
/// The same for the stages of each product, and for keys that one lane's scores are not.
const std::vector<AttentionCase> plain_cases{{1, 1, 20, 300, 8}, {1, 1, 20, 9, 200}, {1, 2, 20, 37, 7, true}};

void check_proof(const std::string& name, const std::function<bool()>& test) {
  const simt::Proof proof = simt::prove(test);
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  CHECK(simt::difference_from_document(proof, name, PRECAST_SOURCE_DIR "/docs/kernel_proofs.md") == "");
}

template <class P>
void check_proof_of(const std::string& name) {
  const Checks<P> checks(P::flash ? flash_cases : plain_cases);
  check_proof(name, [&] { return checks.pass(); });
}

}  // namespace

TEST_CASE("proof of flash attention in bf16", "[attention][proof]") {
  check_proof_of<Policy<Storage<bf16>, Flash>>("flash attention, bf16");
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
