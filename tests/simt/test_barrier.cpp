// Barriers order a block's threads, and one that is missing shows: under the unfair schedule every time.
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast::gpu;

namespace {

/// Each thread passes its number round the block by shared memory, twice through the same array.
PRECAST_KERNEL void pass_round(GlobalPointer<int> to) {
  const int n = threads_in_block(), me = thread_index();
  auto box = static_shared<int, 256, struct Box>();
  box[me] = me;
  sync_block();
  const int first = box[(me + 1) % n];
  sync_block();
  box[me] = first;
  sync_block();
  to[block_index().x * n + me] = box[(me + 40) % n];
}

bool passes_round(const simt::Options& options, std::vector<simt::KernelSite>* sites = nullptr) {
  constexpr int threads = 256, blocks = 3;
  std::vector<int> got(threads * blocks, -1);
  simt::Session session(options);
  launch("pass_round", pass_round, {{blocks}, threads}, {}, global_pointer(got.data(), threads * blocks));
  if (sites) *sites = session.sites();
  for (int i = 0; i < threads * blocks; ++i)
    if (got[static_cast<std::size_t>(i)] != (i % threads + 41) % threads) return false;
  return true;
}

}  // namespace

TEST_CASE("a block's barriers: right with all of them, wrong without any one") {
  std::vector<simt::KernelSite> sites;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) REQUIRE(passes_round({seed}, &sites));
  REQUIRE(sites.size() == 3);
  if (simt::watched_for_races()) return;
  for (const auto& site : sites) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      found += !passes_round({.seed = seed, .copies = simt::Copies::late, .silenced = site});
    INFO(simt::describe(site.kind, site.site));
    CHECK(found == 20);
  }
}
