// What a kernel does wrong is an error that says which thread did what, and where.
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;
using Catch::Matchers::Contains;

namespace {

/// Runs a kernel without parameters on one block, under a few schedules; the error that the last one threw.
template <class Expected>
std::string error_of(void (*kernel)(), int threads = 64, std::size_t shared_bytes = 0) {
  std::string message;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const simt::Session session({seed});
    message.clear();
    try {
      launch("faulty", kernel, {{}, threads, shared_bytes}, {});
    } catch (const Expected& error) {
      message = error.what();
    }
    if (message.empty()) return "no such error";
  }
  return message;
}

}  // namespace

TEST_CASE("an access out of bounds names kernel, block, thread, index, size and array") {
  std::vector<int> data(10);
  const auto kernel = +[](GlobalPointer<int> p) {
    if (block_index().y == 1 && thread_index() == 40) p[10] = 1;
  };
  CHECK_THROWS_AS(launch("over", kernel, {{1, 2}, 64}, {}, global_pointer(data.data(), 10)),
                  simt::OutOfBounds);
  CHECK_THROWS_WITH(
      launch("over", kernel, {{1, 2}, 64}, {}, GlobalPointer<int>(data.data(), 10, "the result")),
      "kernel over, block (0, 1, 0), thread 40 (warp 1, lane 8): out of bounds: 1 value of 4 bytes at index "
      "10 of "
      "the result in global memory, which has 10");
}

TEST_CASE("a null pointer can be tested, and not read") {
  const auto kernel = +[](GlobalPointer<int> p) {
    if (p) p[0] = 1;
  };
  CHECK_NOTHROW(launch("null", kernel, {{}, 32}, {}, GlobalPointer<int>()));
  const auto reads = +[](GlobalPointer<int> p) { p[0] = 1; };
  CHECK_THROWS_WITH(launch("null", reads, {{}, 32}, {}, GlobalPointer<int>()), Contains("null pointer"));
}

TEST_CASE("a position may leave its array, what is accessed may not") {
  std::vector<int> data(8);
  const auto kernel = +[](GlobalPointer<int> p) {
    const auto before = p - 100;
    before[100 + thread_index()] = thread_index();
  };
  CHECK_NOTHROW(launch("far", kernel, {{}, 8}, {}, global_pointer(data.data(), 8)));
  CHECK(data[7] == 7);
  const auto below = +[](GlobalPointer<int> p) { p[-1] = 0; };
  CHECK_THROWS_AS(launch("below", below, {{}, 1}, {}, global_pointer(data.data(), 8)), simt::OutOfBounds);
}

TEST_CASE("vectors: as a whole inside, and on a multiple of their size") {
  alignas(16) f32 data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto pointer = global_pointer(data, 8);
  const auto moves = +[](GlobalPointer<f32> p) { store_vector_global(p, load_vector<4>(p + 4)); };
  launch("moves", moves, {{}, 1}, {}, pointer);
  CHECK(data[3] == 8);
  const auto crooked = +[](GlobalPointer<f32> p) { p[0] = load_vector<4>(p + 2)[0]; };
  CHECK_THROWS_AS(launch("crooked", crooked, {{}, 1}, {}, pointer), simt::Misaligned);
  CHECK_THROWS_WITH(launch("crooked", crooked, {{}, 1}, {}, pointer),
                    Contains("4 values of 4 bytes at index 2") && Contains("not a multiple of 16"));
  const auto over = +[](GlobalPointer<f32> p) { p[0] = load_vector<4>(p + 8)[0]; };
  CHECK_THROWS_AS(launch("over", over, {{}, 1}, {}, pointer), simt::OutOfBounds);
}

TEST_CASE("shared memory has exactly its size") {
  const auto takes_half = +[] { dynamic_shared<f32>(512, 128)[127 - thread_index()] = 0; };
  CHECK(error_of<simt::Error>(takes_half, 32, 1024) == "no such error");
  CHECK_THAT(error_of<simt::SharedMemoryExceeded>(takes_half, 32, 1023),
             Contains("asks for bytes 512 to 1024") && Contains("asked for 1023"));
  CHECK_THAT(error_of<simt::Misaligned>(
                 +[] { dynamic_shared<f32>(8, 1); }, 32, 64),
             Contains("not a multiple of 16"));
  CHECK_THAT(error_of<simt::OutOfBounds>(+[] { static_shared<f32, 4, struct A>()[4] = 0; }),
             Contains("in shared memory, which has 4"));
  CHECK_THAT(error_of<simt::SharedMemoryExceeded>(+[] {
               static_shared<f32, 12 << 10, struct B>();
               static_shared<f32, 1, struct C>();
             }),
             Contains("4 bytes of static_shared after 49152"));
}

TEST_CASE("lanes of a warp at different calls") {
  CHECK_THAT(error_of<simt::Divergence>(+[] {
               if (lane_index() == 3)
                 shuffle(1, 0);
               else
                 shuffle_xor(1, 1);
             }),
             Contains("shuffle at test_errors.cpp:") && Contains("shuffle_xor at test_errors.cpp:"));
  const auto two_places = +[] {  // outside of the macro, which would put both on one line
    if (lane_index() < 16)
      sync_warp();
    else
      sync_warp();
  };
  CHECK_THAT(error_of<simt::Divergence>(two_places), Contains("sync_warp at test_errors.cpp:"));
  CHECK_THAT(error_of<simt::Divergence>(+[] {
               if (lane_index() == 0)
                 sync_block();
               else
                 warp_ballot(true);
             }),
             Contains("sync_block at test_errors.cpp:") && Contains("warp_ballot at test_errors.cpp:"));
  CHECK_THAT(error_of<simt::BadArgument>(
                 +[] { sync_warp(lane_index() == 5 ? ~32u : ~0u); }, 32),
             Contains("lane 5") && Contains("leave it out"));
}

TEST_CASE("lanes that go their own way as their masks say are no error") {
  CHECK(error_of<simt::Error>(+[] {
          auto box = static_shared<int, 64, struct D>();
          box[thread_index()] = thread_index();
          if (lane_index() < 16)
            sync_warp(0xffffu);
          else
            sync_warp(0xffff0000u);
          if (box[thread_index() ^ 15] != (thread_index() ^ 15)) throw std::runtime_error("not ordered");
        }) == "no such error");
}

TEST_CASE("a lane that has left, and others that wait for it") {
  CHECK_THAT(error_of<simt::Divergence>(+[] {
               if (thread_index() != 37) shuffle(1, 0);
             }),
             Contains("left the kernel") && Contains("shuffle at test_errors.cpp:"));
  CHECK_THAT(error_of<simt::Divergence>(+[] {
               if (thread_index() != 37) sync_block();
             }),
             Contains("left the kernel") && Contains("sync_block at test_errors.cpp:"));
  CHECK_THAT(error_of<simt::Divergence>(
                 +[] { sync_warp(); }, 40),
             Contains("lanes that have left"));
}

TEST_CASE("parts of a block at different barriers") {
  const auto two_places = +[] {
    if (warp_index() == 0)
      sync_block();
    else
      sync_block();
  };
  CHECK_THAT(error_of<simt::Divergence>(two_places),
             Contains("other threads of its block are at sync_block"));
  CHECK_THAT(error_of<simt::Divergence>(
                 +[] { sync_named(1, warp_index() == 0 ? 64 : 96); }, 96),
             Contains("others are at the same barrier"));
  CHECK_THAT(error_of<simt::BadArgument>(+[] { sync_named(16, 32); }), Contains("1 to 15"));
  CHECK_THAT(error_of<simt::BadArgument>(+[] { sync_named(1, 48); }), Contains("whole warps"));
}

TEST_CASE("a deadlock lists who waits where") {
  const std::string message = error_of<simt::Deadlock>(
      +[] {
        if (warp_index() < 2)
          sync_named(1, 96);
        else if (warp_index() == 2)
          sync_named(2, 64);
        else if (lane_index() < 4)
          sync_block();
        else
          sync_named(3, 64);
      },
      128);
  CHECK_THAT(message, Contains("block (0, 0, 0): deadlock:") &&
                          Contains("threads 0-63 at sync_named at test_errors.cpp:"));
  CHECK_THAT(message, Contains("threads 64-95 at") && Contains("(barrier 2, which takes 64 threads)"));
  CHECK_THAT(message, Contains("threads 96-99 at sync_block") && Contains("threads 100-127 at sync_named"));
}

TEST_CASE("what a kernel throws leaves launch(), and the other threads are unwound") {
  static std::atomic<int> alive = 0;
  struct Counts {
    Counts() { ++alive; }
    ~Counts() { --alive; }
  };
  CHECK_THAT(error_of<simt::ThrownInKernel>(+[] {
               const Counts counts;
               if (thread_index() == 9) throw std::runtime_error("a reason");
               sync_block();
             }),
             Contains("thread 9") && Contains("a reason"));
  CHECK(alive == 0);
  CHECK(error_of<simt::Error>(+[] { sync_block(); }) == "no such error");
}

TEST_CASE("sizes that no device starts, and calls outside of a kernel") {
  const auto nothing = +[] {};
  CHECK_NOTHROW(launch("n", nothing, {{0}, 32}, {}));
  CHECK_THROWS_AS(launch("n", nothing, {{-1}, 32}, {}), simt::BadLaunch);
  CHECK_THROWS_AS(launch("n", nothing, {{1, 65536}, 32}, {}), simt::BadLaunch);
  CHECK_THROWS_AS(launch("n", nothing, {{}, 1025}, {}), simt::BadLaunch);
  CHECK_THROWS_AS(launch("n", nothing, {{}, 32, 228 << 10}, {}), simt::BadLaunch);
  CHECK_THROWS_AS(sync_block(), std::logic_error);
}
