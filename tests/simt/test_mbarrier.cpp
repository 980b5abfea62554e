// Barriers that count arrivals: phases, what they order, and what is said of their misuse.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

constexpr int rounds = 7;

/// One warp hands values to another, through two places in turn.
PRECAST_KERNEL void hand_over(GlobalPointer<int> to) {
  const auto places = static_shared<int, 64, struct Places>();
  const auto full = static_shared<Mbarrier, 2, struct Full>(),
             empty = static_shared<Mbarrier, 2, struct Empty>();
  if (thread_index() == 0)
    for (int stage = 0; stage < 2; ++stage) {
      init_mbarrier(full + stage, 32);
      init_mbarrier(empty + stage, 32);
    }
  sync_block();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const int stage = round % 2, parity = round / 2 % 2;
    if (warp_index() == 0) {
      wait_parity(empty + stage, parity ^ 1);
      places[stage * 32 + lane_index()] = round * 100 + lane_index();
      arrive(full + stage);
    } else {
      wait_parity(full + stage, parity);
      sum += places[stage * 32 + (lane_index() + 5) % 32];
      arrive(empty + stage);
    }
  }
  if (warp_index() == 1) to[lane_index()] = sum;
}

bool hands_over() {
  std::vector<int> got(32), expected(32);
  for (int lane = 0; lane < 32; ++lane)
    for (int round = 0; round < rounds; ++round)
      expected[static_cast<std::size_t>(lane)] += round * 100 + (lane + 5) % 32;
  launch("hand_over", hand_over, {{}, 64}, {}, global_pointer(got.data(), 32));
  return got == expected;
}

template <class Kernel>
std::string error_of(int threads, Kernel kernel) {
  try {
    launch("barriers", +kernel, {{}, threads, 16}, {});
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

SharedPointer<Mbarrier> one() { return static_shared<Mbarrier, 1, struct One>(); }

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("mbarrier: two warps hand values over, and every site of it is missed") {
  const simt::Proof proof = simt::prove(hands_over);
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  if (!simt::watched_for_races()) CHECK(proof.verdicts.size() == 5);
}

TEST_CASE("mbarrier: a wait that nobody ends is a deadlock that names the barrier") {
  CHECK_THAT(error_of(2,
                      [] {
                        if (thread_index() == 0) init_mbarrier(one(), 3);
                        sync_block();
                        arrive(one());
                        wait_parity(one(), 0);
                      }),
             Contains("deadlock: threads 0-1 at wait_parity at test_mbarrier.cpp") &&
                 Contains("in phase 0, which waits for 1 arrival and 0 bytes"));
  CHECK_THAT(error_of(1,
                      [] {
                        init_mbarrier(one(), 1);
                        arrive_expect_tx(one(), 48);
                        wait_parity(one(), 0);
                      }),
             Contains("which waits for 0 arrivals and 48 bytes"));
}

TEST_CASE("mbarrier: a phase that has passed lets through, the one before the first too") {
  CHECK(error_of(1, [] {
          init_mbarrier(one(), 1);
          wait_parity(one(), 1);
          arrive(one());
          wait_parity(one(), 0);
          arrive(one());
          wait_parity(one(), 1);
        }) == "");
}

TEST_CASE("mbarrier: what is no barrier, and arrivals that nobody waits for, are errors") {
  CHECK_THAT(error_of(1, [] { wait_parity(one(), 0); }), Contains("no barrier has been made at byte"));
  CHECK_THAT(error_of(1,
                      [] {
                        init_mbarrier(one(), 1);
                        one()->state = 0;
                        arrive(one());
                      }),
             Contains("has been written over"));
  CHECK_THAT(error_of(1,
                      [] {
                        init_mbarrier(one(), 1);
                        arrive_expect_tx(one(), 16);
                        arrive(one());
                      }),
             Contains("all have arrived"));
  CHECK_THAT(error_of(1, [] { init_mbarrier(one(), 0); }), Contains("it takes 1 to 1048575"));
  CHECK_THAT(error_of(1,
                      [] {
                        init_mbarrier(one(), 1);
                        arrive_expect_tx(one(), 1 << 20);
                      }),
             Contains("it announces 0 to 1048575 bytes"));
  CHECK_THAT(error_of(1,
                      [] {
                        init_mbarrier(one(), 1);
                        wait_parity(one(), 2);
                      }),
             Contains("a parity is 0 or 1"));
}
