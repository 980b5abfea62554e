// Asynchronous copies: a wait that is missing shows when they land late, a stage that is reused too early
// when they land early.
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

constexpr int ring_threads = 64, ring_tiles = 6, ring_tile = ring_threads * 4;

/// Sums what neighbours fetched, over tiles that go through two stages of shared memory.
PRECAST_KERNEL void sum_tiles(GlobalPointer<const int> from, GlobalPointer<int> to) {
  auto stages = dynamic_shared<int>(0, 2 * ring_tile);
  const auto fetch = [&](int t) {
    if (t < ring_tiles)
      cp_async<16>(stages + (t % 2 * ring_tile + thread_index() * 4),
                   from + (t * ring_tile + thread_index() * 4));
    cp_async_commit();
  };
  fetch(0);
  int sum = 0;
  for (int t = 0; t < ring_tiles; ++t) {
    fetch(t + 1);
    cp_async_wait<1>();
    sync_block();
    for (int i = 0; i < 4; ++i)
      sum += stages[t % 2 * ring_tile + (thread_index() + i * ring_threads + 7) % ring_tile];
    sync_block();
  }
  to[thread_index()] = sum;
}

bool sums_tiles(const simt::Options& options, std::vector<simt::KernelSite>* sites = nullptr) {
  alignas(16) int from[ring_tiles * ring_tile];
  for (int i = 0; i < ring_tiles * ring_tile; ++i) from[i] = i * i % 1009;
  std::vector<int> got(ring_threads), expected(ring_threads);
  for (int t = 0; t < ring_tiles; ++t)
    for (int thread = 0; thread < ring_threads; ++thread)
      for (int i = 0; i < 4; ++i)
        expected[static_cast<std::size_t>(thread)] +=
            from[t * ring_tile + (thread + i * ring_threads + 7) % ring_tile];
  const simt::Session session(options);
  launch("sum_tiles", sum_tiles, {{}, ring_threads, 2 * ring_tile * sizeof(int)}, {},
         GlobalPointer<const int>(global_pointer(from, ring_tiles * ring_tile)),
         global_pointer(got.data(), ring_threads));
  if (sites) *sites = session.sites();
  return got == expected;
}

int times_found(const simt::KernelSite& site, simt::Copies copies) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) found += !sums_tiles({seed, copies, site});
  return found;
}

}  // namespace

TEST_CASE("two stages of copies: right early and late, wrong without any of its sites") {
  std::vector<simt::KernelSite> sites;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const auto copies : {simt::Copies::early, simt::Copies::late})
      REQUIRE(sums_tiles({seed, copies}, &sites));
  REQUIRE(sites.size() == 4);
  if (simt::watched_for_races()) return;
  using simt::Copies;
  using simt::Kind;
  CHECK(sites[0].kind == Kind::cp_async_commit);
  CHECK(times_found(sites[0], Copies::late) == 20);
  CHECK(times_found(sites[0], Copies::early) == 0);
  CHECK(sites[1].kind == Kind::cp_async_wait);
  CHECK(times_found(sites[1], Copies::late) == 20);
  CHECK(times_found(sites[1], Copies::early) == 0);
  CHECK(times_found(sites[2], Copies::early) == 20);  // the barrier after the wait
  CHECK(times_found(sites[3], Copies::early) == 20);  // the one before the stage is filled anew
}

TEST_CASE("a copy that nobody waits for never lands, and a part of it is zeros") {
  alignas(16) const f32 from[4] = {1, 2, 3, 4};
  f32 got[4] = {};
  const auto kernel = +[](GlobalPointer<const f32> source, GlobalPointer<f32> to, int valid) {
    auto box = static_shared<f32, 4, struct Landing>();
    cp_async<16>(box, source, valid);
    if (valid < 16) {
      cp_async_commit();
      cp_async_wait<0>();
    }
    for (int i = 0; i < 4; ++i) to[i] = box[i];
  };
  const GlobalPointer<const f32> source(from, 4);
  const simt::Session late({.copies = simt::Copies::late});
  launch("part", kernel, {{}, 1}, {}, source, global_pointer(got, 4), 8);
  CHECK(std::vector<f32>(got, got + 4) == std::vector<f32>{1, 2, 0, 0});
  launch("part", kernel, {{}, 1}, {}, source, global_pointer(got, 4), 0);
  CHECK(std::vector<f32>(got, got + 4) == std::vector<f32>{0, 0, 0, 0});
  launch("never", kernel, {{}, 1}, {}, source, global_pointer(got, 4), 16);
  CHECK(got[0] != got[0]);  // the NaN that shared memory starts with
}

TEST_CASE("a copy's addresses are checked as it starts") {
  alignas(16) const f32 from[8] = {};
  const GlobalPointer<const f32> source(from, 8);
  const auto kernel = +[](GlobalPointer<const f32> p, int valid) {
    cp_async<16>(static_shared<f32, 4, struct Checked>(), p, valid);
  };
  CHECK_THROWS_AS(launch("crooked", kernel, {{}, 1}, {}, source + 1, 16), simt::Misaligned);
  CHECK_THROWS_AS(launch("over", kernel, {{}, 1}, {}, source + 8, 16), simt::OutOfBounds);
  CHECK_THROWS_AS(launch("over", kernel, {{}, 1}, {}, source + 8, 0), simt::OutOfBounds);
  CHECK_THROWS_AS(launch("too many", kernel, {{}, 1}, {}, source, 17), simt::BadArgument);
  CHECK_NOTHROW(launch("edge", kernel, {{}, 1}, {}, source + 4, 16));
}

TEST_CASE("shared memory is NaN in every dtype when a block starts") {
  const auto kernel = +[](GlobalPointer<unsigned> to) {
    auto own = static_shared<unsigned, 4, struct Poisoned>();
    auto asked = dynamic_shared<unsigned>(0, 4);
    to[block_index().x * 2] = own[3];
    to[block_index().x * 2 + 1] = asked[3];
    own[3] = asked[3] = 0;
  };
  std::vector<unsigned> got(6);
  launch("poison", kernel, {{3}, 1, 16}, {}, global_pointer(got.data(), 6));
  CHECK(got == std::vector<unsigned>(6, 0xffffffffu));
}
