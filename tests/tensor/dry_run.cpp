// A dry run counts what the pool of host memory would hold, and takes none of it.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/skip.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/address_sanitizer.hpp>
#include <precast/memory/block_cache.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/kept_memory.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

namespace {

/// Takes and gives back blocks of sizes that come again, as a model does.
void allocate_at_random() {
  std::mt19937 random(7);
  std::vector<Buffer> held;
  for (int i = 0; i < 2000; ++i) {
    if (held.size() > 20 || (!held.empty() && random() % 3 == 0))
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
    else
      held.emplace_back(std::size_t{1} << (random() % 24));
    if (i % 500 == 499) release_cached_memory();
  }
}

struct Scratch;

}  // namespace

#if !PRECAST_HAS_ADDRESS_SANITIZER  // which ends a program that asks for so much
TEST_CASE("memory that is not there is said in a unit that is true") {
  CHECK_THROWS_WITH(Buffer(std::size_t{1} << 52), "could not get 4.0 PiB of memory");
  CHECK_THROWS_WITH(Buffer((std::size_t{5} << 50) + (std::size_t{1} << 49)),
                    "could not get 5.5 PiB of memory");
}
#endif

TEST_CASE("blocks that are free make way for other sizes, and stay where these come again") {
  BlockCache cache;
  std::int64_t in_use = 0, from_system = 0, most = 0;
  const auto taken = [&](std::int64_t mebibytes) {
    const std::size_t bytes = static_cast<std::size_t>(mebibytes) << 20;
    if (!cache.take(bytes, in_use, [](std::size_t) {})) from_system += mebibytes;
    in_use += static_cast<std::int64_t>(bytes);
    most = std::max(most, in_use + cache.held());
  };
  const auto freed = [&](std::int64_t mebibytes) {
    in_use -= mebibytes << 20;
    CHECK(cache.keep(static_cast<std::size_t>(mebibytes) << 20));
  };
  const auto round = [&](std::initializer_list<std::int64_t> sizes) {
    from_system = 0;
    for (const std::int64_t size : sizes) {
      taken(size);
      freed(size);
    }
    return from_system;
  };
  // Sizes that come once: never more than the largest.
  CHECK(round({4, 16, 64, 32}) == 116);
  CHECK(most == std::int64_t{64} << 20);
  CHECK(cache.held() == std::int64_t{32} << 20);
  // A loop: all stay once each has come again.
  CHECK(round({4, 16, 64, 32}) > 0);
  CHECK(round({4, 16, 64, 32}) == 0);
  CHECK(cache.held() == std::int64_t{116} << 20);
  cache.clear();
  CHECK(cache.held() == 0);
  CHECK_FALSE(cache.keep((1 << 20) - 1));
}

TEST_CASE("the few bytes that a task takes drive no free block out") {
  BlockCache cache;
  constexpr std::size_t mebibyte = BlockCache::smallest;
  const auto is_free = [&](std::size_t bytes) { return cache.take(bytes, 0, [](std::size_t) {}); };
  CHECK_FALSE(is_free(4 * mebibyte));
  CHECK(cache.keep(4 * mebibyte));
  for (const std::size_t few : {std::size_t{512}, mebibyte}) CHECK_FALSE(is_free(few));
  CHECK(cache.held() == 4 * mebibyte);
  CHECK_FALSE(is_free(mebibyte + 4096));
  CHECK(cache.held() == 0);
}

TEST_CASE("free blocks beyond the usual limit stay while somebody keeps the peak, and no more than that") {
  constexpr std::size_t tebibyte = std::size_t{1} << 40;
  BlockCache cache;
  const auto comes_from_system = [&] { return !cache.take(tebibyte, 0, [](std::size_t) {}); };
  CHECK(comes_from_system());
  CHECK_FALSE(cache.keep(tebibyte));
  {
    const KeptMemory outer;
    { const KeptMemory inner; }
    CHECK(cache.keep(tebibyte));
    CHECK_FALSE(cache.keep(tebibyte));  // never were two in use
    CHECK_FALSE(comes_from_system());
  }
  CHECK_FALSE(cache.keep(tebibyte));
}

TEST_CASE("what was kept for a training run goes back to the system after it") {
  release_cached_memory();
  {
    const KeptMemory kept;
    { const Buffer buffer(std::size_t{1} << 31); }
#if !PRECAST_HAS_ADDRESS_SANITIZER  // there the pool keeps no block
    CHECK(memory_use().cached == std::int64_t{1} << 31);
#endif
  }
  CHECK(memory_use().cached == 0);
}

TEST_CASE("a dry run counts what the pool would hold") {
  release_cached_memory();
  reset_peak_memory();
  const MemoryUse before = memory_use();
  DryRun dry;
  allocate_at_random();
  CHECK(dry.in_use() == 0);
  CHECK(memory_use().most_held == before.most_held);
  const std::int64_t estimate = dry.peak();
  std::thread(allocate_at_random).join();  // another thread's memory is real
  CHECK(dry.peak() == estimate);
  CHECK(memory_use().most_held - before.in_use - before.scratch == estimate);
}

TEST_CASE("scratch of threads drives no free block out of the pool, and is kept by none") {
  if (!BlockCache::is_used()) return testing::skip("this build does not pool memory");
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  release_cached_memory();
  Buffer(4 * mebibyte);
  REQUIRE(memory_use().cached == 4 * mebibyte);
  {
    const std::int64_t before = memory_use().scratch;
    const Buffer scratch(3 * mebibyte, MemoryPurpose::scratch);
    CHECK(memory_use().scratch == before + static_cast<std::int64_t>(3 * mebibyte));
    CHECK(memory_use().cached == 4 * mebibyte);
  }
  CHECK(memory_use().cached == 4 * mebibyte);
  release_cached_memory();
}

TEST_CASE("in a dry run tensors have sizes, and neither values nor work") {
  const std::int64_t before = memory_use().in_use;
  std::optional<Tensor<f32>> left;
  {
    DryRun dry;
    REQUIRE(DryRun::active() == &dry);
    const std::vector<f32> values(1000, 1.0f);
    Tensor<f32> tensor(Shape{1000}, values);
    CHECK(DryRun::made(tensor.data()));
    CHECK_FALSE(DryRun::made(values.data()));
    CHECK(dry.in_use() == 4032);  // whole cache lines
    left = tensor.clone();
    CHECK(dry.in_use() == 2 * 4032);
    int tasks = 0;
    host::parallel_for(100, [&](std::int64_t) { ++tasks; });
    CHECK(tasks == 0);
  }
  CHECK(DryRun::active() == nullptr);
  left.reset();  // after its dry run it is given back to nobody
  CHECK(memory_use().in_use == before);
}

TEST_CASE("what tasks hold counts for the threads that run them, and scratch until the end") {
  DryRun dry;
  dry.in_tasks(10, 4, 1000);
  CHECK(dry.peak() == 4000);
  dry.restart_peak();
  CHECK(dry.peak() == 0);
  dry.in_tasks(3, 4, 1000);
  CHECK(dry.peak() == 3000);
  dry.restart_peak();
  dry.kept_by_threads<Scratch>(10, 4, 100);
  dry.kept_by_threads<Scratch>(10, 4, 50);
  CHECK(dry.peak() == 400);
  dry.restart_peak();
  CHECK(dry.peak() == 400);
  {
    const DryHold picture(5000);
    CHECK(dry.peak() == 5400);
  }
  dry.restart_peak();
  CHECK(dry.peak() == 400);
}

TEST_CASE("a dry run of a device counts the device's memory alone") {
  DryRun dry(DryRun::Counts::device_memory);
  const Tensor<f32> of_host(Shape{1 << 20});
  CHECK(dry.peak() == 0);
  dry.allocate(1 << 20, DryRun::Counts::device_memory);
  CHECK(dry.in_use() == 1 << 20);
  DryRun::deallocate(1 << 20, DryRun::Counts::device_memory);
  CHECK(dry.in_use() == 0);
  CHECK(dry.peak() == 1 << 20);
}
