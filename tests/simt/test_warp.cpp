// Shuffles and ballots, warp barriers, named barriers and atomics.
#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

/// Runs a kernel that writes a number a thread, by a few schedules; the numbers must not depend on which.
std::vector<int> numbers_of(void (*kernel)(GlobalPointer<int>), int threads, int blocks = 1) {
  std::vector<int> first;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const simt::Session session({seed});
    std::vector<int> numbers(static_cast<std::size_t>(threads * blocks), -1);
    launch("numbers", kernel, {{blocks}, threads}, {}, global_pointer(numbers.data(), threads * blocks));
    if (first.empty()) first = numbers;
    REQUIRE(numbers == first);
  }
  return first;
}

}  // namespace

TEST_CASE("shuffles give each lane the value of the lane it asks for") {
  const auto of_lane = numbers_of(
      +[](GlobalPointer<int> to) {
        to[thread_index()] = shuffle(thread_index() * 10, (lane_index() + 1) % 32);
      },
      64);
  const auto by_bits = numbers_of(
      +[](GlobalPointer<int> to) { to[thread_index()] = shuffle_xor(thread_index(), 5); }, 64);
  const auto down = numbers_of(
      +[](GlobalPointer<int> to) {
        to[thread_index()] = static_cast<int>(shuffle_down(static_cast<f32>(thread_index()), 3));
      },
      64);
  for (int t = 0; t < 64; ++t) {
    const int base = t / 32 * 32, lane = t % 32;
    const auto at = static_cast<std::size_t>(t);
    CHECK(of_lane[at] == (base + (lane + 1) % 32) * 10);
    CHECK(by_bits[at] == base + (lane ^ 5));
    CHECK(down[at] == (lane + 3 < 32 ? t + 3 : t));
  }
}

TEST_CASE("warp_ballot has a bit for each lane") {
  const auto votes = numbers_of(
      +[](GlobalPointer<int> to) {
        to[thread_index()] = static_cast<int>(warp_ballot(thread_index() % 3 == 0));
      },
      64);
  for (int t = 0; t < 64; ++t) {
    unsigned expected = 0;
    for (int lane = 0; lane < 32; ++lane) expected |= unsigned{(t / 32 * 32 + lane) % 3 == 0} << lane;
    CHECK(static_cast<unsigned>(votes[static_cast<std::size_t>(t)]) == expected);
  }
}

TEST_CASE("a warp's barrier orders its lanes, and without it the result is wrong") {
  const auto kernel = +[](GlobalPointer<int> to) {
    auto box = static_shared<int, 64, struct WarpBox>();
    box[thread_index()] = thread_index();
    sync_warp();
    to[thread_index()] = box[thread_index() ^ 31];
  };
  const auto right = numbers_of(kernel, 64);
  CHECK(right[1] == 30);
  simt::Session look;
  std::vector<int> numbers(64);
  launch("warp", kernel, {{}, 64}, {}, global_pointer(numbers.data(), 64));
  REQUIRE(look.sites().size() == 1);
  if (simt::watched_for_races()) return;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const simt::Session session({.seed = seed, .copies = simt::Copies::late, .silenced = look.sites()[0]});
    launch("warp", kernel, {{}, 64}, {}, global_pointer(numbers.data(), 64));
    CHECK(numbers != right);
  }
}

TEST_CASE("named barriers: a producer and a consumer, whose warps meet by number") {
  const auto kernel = +[](GlobalPointer<int> to) {
    auto box = static_shared<int, 32, struct NamedBox>();
    constexpr int full = 1, empty = 2, rounds = 5;
    int sum = 0;
    for (int round = 0; round < rounds; ++round) {
      if (warp_index() == 0) {
        box[lane_index()] = round * 100 + lane_index();
        sync_named(full, 64);
        sync_named(empty, 64);
      } else {
        sync_named(full, 64);
        sum += box[31 - lane_index()];
        sync_named(empty, 64);
      }
    }
    to[thread_index()] = sum;
  };
  const auto sums = numbers_of(kernel, 64);
  CHECK(sums[0] == 0);
  CHECK(sums[32] == 1000 + 5 * 31);
  CHECK(sums[63] == 1000);
}

TEST_CASE("atomics add up over threads and blocks") {
  std::vector<int> counts(2);
  const auto kernel = +[](GlobalPointer<int> to) {
    atomic_add(to, 1);
    atomic_max(to + 1, block_index().x * 1000 + thread_index());
  };
  launch("atomics", kernel, {{7}, 96}, {}, global_pointer(counts.data(), 2));
  CHECK(counts == std::vector<int>{7 * 96, 6095});
}

TEST_CASE("blocks do not run in order") {
  std::vector<int> order(50);
  int next = 0;
  const auto kernel = +[](GlobalPointer<int> to, GlobalPointer<int> counter) {
    to[block_index().x] = atomic_add(counter, 1);
  };
  launch("order", kernel, {{50}, 1}, {}, global_pointer(order.data(), 50), global_pointer(&next, 1));
  CHECK(next == 50);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
}
