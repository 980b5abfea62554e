// How fast the emulator is: hidden, told by `test_simt "[.speed]"`.
#include <cmath>
#include <ctime>
#include <iostream>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

/// A row of 128 values a block of 128 threads.
PRECAST_KERNEL void softmax_rows(GlobalPointer<const f32> from, GlobalPointer<f32> to) {
  auto parts = static_shared<f32, 4, struct Parts>();
  const std::int64_t at = std::int64_t{block_index().x} * 128 + thread_index();
  const f32 value = from[at];
  f32 largest = value;
  for (int bits = 16; bits > 0; bits /= 2) largest = std::max(largest, shuffle_xor(largest, bits));
  if (lane_index() == 0) parts[warp_index()] = largest;
  sync_block();
  for (int w = 0; w < 4; ++w) largest = std::max(largest, parts[w]);
  sync_block();
  const f32 power = std::exp(value - largest);
  f32 sum = power;
  for (int bits = 16; bits > 0; bits /= 2) sum += shuffle_xor(sum, bits);
  if (lane_index() == 0) parts[warp_index()] = sum;
  sync_block();
  to[at] = power / (parts[0] + parts[1] + parts[2] + parts[3]);
}

/// A tile of 64 x 64, 512 deep, by four warps: a row of 16 each, eight products of 16 x 8 a step.
PRECAST_KERNEL void tile_product(GlobalPointer<const bf16> a, GlobalPointer<const bf16> b,
                                 GlobalPointer<f32> to) {
  constexpr int depth = 64, stride = depth + 8;
  auto tile_a = dynamic_shared<bf16>(0, 64 * stride);
  auto tile_b = dynamic_shared<bf16>(64 * stride * 2, 64 * stride);
  AccumulatorFragment sums[8];
  for (int start = 0; start < 512; start += depth) {
    for (int i = thread_index(); i < 64 * depth / 8; i += threads_in_block()) {
      const int row = i / 8, column = i % 8 * 8;
      cp_async<16>(tile_a + (row * stride + column), a + (row * 512 + start + column));
      cp_async<16>(tile_b + (row * stride + column), b + (row * 512 + start + column));
    }
    cp_async_commit();
    cp_async_wait<0>();
    sync_block();
    for (int k = 0; k < depth; k += 16) {
      const SharedPointer<const bf16> row =
          tile_a + ((warp_index() * 16 + lane_index() % 16) * stride + k + lane_index() / 16 * 8);
      const auto fa = ldmatrix<4>(row);
      for (int n = 0; n < 8; ++n) {
        const SharedPointer<const bf16> column =
            tile_b + ((n * 8 + lane_index() % 8) * stride + k + lane_index() / 8 % 2 * 8);
        mma_sync<bf16>(sums[n], fa, ldmatrix<2>(column));
      }
    }
    sync_block();
  }
  for (int n = 0; n < 8; ++n)
    for (int i = 0; i < 4; ++i)
      to[(warp_index() * 16 + lane_index() / 4 + i / 2 * 8) * 64 + n * 8 + lane_index() % 4 * 2 + i % 2] =
          sums[n].values[i];
}

template <class Run>
double seconds(Run run) {
  const std::clock_t start = std::clock();  // of the processor: other programs may share the machine
  run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("speed", "[.speed]") {
  constexpr int rows = 4000, tiles = 100;
  std::vector<f32> from(rows * 128, 0.5f), to(rows * 128);
  const double softmax = seconds([&] {
    launch("softmax", softmax_rows, {{rows}, 128}, {}, GlobalPointer<const f32>(from.data(), rows * 128),
           global_pointer(to.data(), rows * 128));
  });
  CHECK(to[0] == 1.0f / 128);
  std::vector<bf16> a(64 * 512, convert<bf16>(1.0f));
  std::vector<f32> c(64 * 64);
  const double product = seconds([&] {
    launch("tile", tile_product, {{tiles}, 128, 2 * 64 * 72 * 2}, {},
           GlobalPointer<const bf16>(a.data(), 64 * 512), GlobalPointer<const bf16>(a.data(), 64 * 512),
           global_pointer(c.data(), 64 * 64));
  });
  CHECK(c[0] == 512);
  std::cout << rows / softmax << " softmax blocks a second, " << tiles / product
            << " tiles of 64 x 64 x 512\n";
}
