// Flash attention on warpgroups in the emulator: sizes around its tiles, and who takes it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>

#include <precast/memory/dry_run.hpp>

#include "attention_runs.hpp"

using namespace precast;
using namespace precast::testing;

namespace {

/// batch, heads, queries, keys, width, causal, biased, scale
const std::vector<AttentionCase> cases{
    {1, 1, 1, 1, 64},
    {2, 3, 20, 37, 64},
    {1, 1, 128, 128, 64},
    {1, 2, 129, 127, 64, true},
    {1, 1, 40, 300, 40, false, true},
    {1, 1, 70, 150, 64, false, false, -0.2f},
    {1, 1, 150, 257, 128, true},
    {2, 1, 65, 129, 104, false, true},
    {1, 2, 30, 140, 128, true, true},
    {1, 1, 128, 40, 128, true},
    with_heads({2, 4, 20, 140, 64}, 2, 64),
    with_heads({1, 2, 40, 37, 64}, 1, 104),
    with_heads({1, 2, 40, 37, 128}, 2, 64, Layout::rows_of_heads),
    with_heads({2, 4, 20, 140, 64, true}, 2, 64, Layout::heads_of_rows),
    with_heads({2, 4, 1, 1, 64}, 1, 64, Layout::heads_of_rows),
};

template <class P>
std::string kernel_of(const AttentionCase& c) {
  const simt::Session session;
  attention_of<P>(c, AttentionInputs<typename P::activation>(c), Architecture::sm_90);
  return session.launches().at(0).kernel;
}

}  // namespace

TEMPLATE_TEST_CASE("flash attention on warpgroups", "[attention][warpgroups]", Bf16Flash, F16Flash) {
  for (const AttentionCase& c : cases)
    for (const auto copies : {simt::Copies::early, simt::Copies::late}) {
      const simt::Session session({.seed = 3, .copies = copies});
      CHECK(wrong_in<TestType>(c, Architecture::sm_90) == "");
      REQUIRE(session.launches().size() == 1);
      CHECK(session.launches()[0].kernel == "warpgroup_attention");
    }
}

TEST_CASE("a dry run makes no map of memory that is not there", "[attention][warpgroups]") {
  const AttentionCase c{1, 1, 20, 20, 64};
  const DryRun dry(DryRun::Counts::device_memory);
  HostTensor<bf16> out(Shape{1, 20, 64});
  const HostTensor<bf16> x(out.shape());
  const simt::Session session;
  CHECK_NOTHROW(run_attention<Bf16Flash>(problem_of(c, {}), split_heads(on_device(x), 1),
                                         split_heads(on_device(x), 1), split_heads(on_device(x), 1),
                                         split_heads(on_device(out), 1), Architecture::sm_90));
  CHECK(session.launches().empty());
}

TEST_CASE("what takes warpgroups", "[attention][warpgroups]") {
  CHECK(kernel_of<Bf16Flash>({1, 1, 20, 20, 64}) == "warpgroup_attention");
  CHECK(kernel_of<Bf16Flash>({1, 1, 20, 20, 63}) == "flash_attention");  // rows of no whole 16 bytes
  CHECK(kernel_of<Bf16Flash>({1, 1, 20, 20, 32}) == "flash_attention");
  CHECK(kernel_of<Bf16Flash>({1, 1, 20, 20, 96}) == "flash_attention");
  CHECK(kernel_of<Bf16Flash>({1, 1, 20, 20, 160}) == "flash_attention");
  CHECK(kernel_of<Tf32Flash>({1, 1, 20, 20, 64}) == "flash_attention");
  CHECK(kernel_of<F32Flash>({1, 1, 20, 20, 64}) == "flash_attention");
  const simt::Session session;
  CHECK(wrong_in<Bf16Flash>({1, 1, 20, 20, 64}, Architecture::sm_100) == "");
  CHECK(session.launches().at(0).kernel == "flash_attention");  // sm_100 has no wgmma
}

TEST_CASE("heads whose rows the TMA cannot step over take the other kernel", "[attention][warpgroups]") {
  // Strides of a map are multiples of the one before: rows, of heads.
  const auto kernel_with = [](std::int64_t heads, std::int64_t more_columns) {
    const AttentionCase c{1, heads, 20, 20, 64};
    const AttentionInputs<bf16> in(c);
    const std::int64_t columns = heads * 64;
    HostTensor<bf16> wider({1, 20, columns + more_columns});
    for (std::int64_t r = 0; r < 20; ++r)
      std::copy(in.q.view().row(r).begin(), in.q.view().row(r).end(), wider.view().row(r).begin());
    HostTensor<bf16> out(in.q.shape());
    const simt::Session session;
    run_attention<Bf16Flash>(
        problem_of(c, in.bias),
        split_heads(on_device(std::as_const(wider).view().columns_between(0, columns)), heads),
        split_heads(on_device(in.k), heads), split_heads(on_device(in.v), heads),
        split_heads(on_device(out), heads), Architecture::sm_90);
    const AttentionReference<precisions<Bf16Flash, Attention>> reference(c, in, true);
    CHECK(outside(out, reference.values, reference.bound()) == "");
    return session.launches().at(0).kernel;
  };
  CHECK(kernel_with(2, 64) == "warpgroup_attention");
  CHECK(kernel_with(2, 8) == "flash_attention");
  CHECK(kernel_with(1, 8) == "warpgroup_attention");
}

TEST_CASE("heads that the TMA does not bring take the other kernel", "[attention][warpgroups]") {
  // Rows are no multiple of heads apart; with a gap of one value they start anywhere, too.
  const AttentionCase c{1, 2, 20, 37, 64};
  const AttentionInputs<bf16> in(c);
  const auto run = [&](std::int64_t gap) {
    const HeadsInLayout apart({1, 37, 2, 64}, Layout::apart, gap);
    const HostTensor<bf16> k = apart.spread(in.k), v = apart.spread(in.v);
    HostTensor<bf16> out(in.q.shape());
    run_attention<Bf16Flash>(problem_of(c, in.bias), split_heads(on_device(in.q), 2), apart.of(k.data()),
                             apart.of(v.data()), split_heads(on_device(out), 2), Architecture::sm_90);
    return out;
  };
  const AttentionReference<precisions<Bf16Flash, Attention>> reference(c, in, true);
  for (const std::int64_t gap : {8, 1}) {
    const simt::Session session;
    CHECK(outside(run(gap), reference.values, reference.bound()) == "");
    CHECK(session.launches().at(0).kernel == "flash_attention");
  }
  // One head of keys that stands for two: a stride of 0 is no stride of the TMA's.
  const AttentionInputs<bf16> one(with_heads({1, 2, 20, 37, 64}, 1, 64));
  const HeadsView<const bf16> k(one.k.data(), Shape{1, 37, 2, 64}, {37 * 64, 64, 0}),
      v(one.v.data(), Shape{1, 37, 2, 64}, {37 * 64, 64, 0});
  HostTensor<bf16> out(one.q.shape());
  const simt::Session session;
  run_attention<Bf16Flash>(problem_of(c, one.bias), split_heads(on_device(one.q), 2), k, v,
                           split_heads(on_device(out), 2), Architecture::sm_90);
  CHECK(session.launches().at(0).kernel == "flash_attention");
  const AttentionReference<precisions<Bf16Flash, Attention>> shared(with_heads(c, 1, 64), one, true);
  CHECK(outside(out, shared.values, shared.bound()) == "");
}
