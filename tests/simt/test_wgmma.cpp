// wgmma: when products read and write, and what happens to those who do not wait, fence, or keep together.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <simt/warpgroup_tiles.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/wgmma.hpp>
#include <precast/tensor/view.hpp>

using namespace precast;
using namespace precast::gpu;
using namespace precast::testing;

namespace {

using Catch::Matchers::Contains;

constexpr int summed_columns = 64, summed_rounds = 3;

/// Sums up the products of `summed_rounds` pairs of tiles, each written by the threads into the place of the
/// one before.
PRECAST_KERNEL void sum_products(GlobalPointer<const bf16> a, GlobalPointer<const bf16> b,
                                 GlobalPointer<f32> d) {
  const Layout layout{Swizzle::of_128_bytes, false, 64};
  AccumulatorFragment sums[8];
  for (int round = 0; round < summed_rounds; ++round) {
    for (int i = thread_index(); i < tile; i += threads) {
      tile_at(0)[layout.place(i / 64, i % 64) / 2] = a[round * tile + i];
      tile_at(1)[layout.place(i / 64, i % 64) / 2] = b[round * tile + i];
    }
    fence_async_proxy();
    sync_block();
    wgmma_fence(sums);
    for (int step = 0; step < 4; ++step)
      wgmma<bf16, false>(sums, matrix_at(0, step), matrix_at(1, step), round + step > 0);
    wgmma_commit();
    wgmma_wait<0>(sums);
    sync_block();
  }
  const int row = warp_index() * 16 + lane_index() / 4, column = lane_index() % 4 * 2;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i)
      d[(row + i / 2 * 8) * summed_columns + 8 * j + column + i % 2] = sums[j].values[i];
}

/// Runs statements of a block of `size` threads that use tiles full of zeros; what the emulator says of it.
template <class Kernel>
std::string error_in(int size, Kernel kernel) {
  try {
    launch("products", +kernel, {{}, size, tiles_bytes}, {});
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}
/// Zeros for the products to read.
void fill_tiles() {
  for (int i = thread_index(); i < tile; i += threads_in_block()) tile_at(0)[i] = tile_at(1)[i] = bf16{0};
  fence_async_proxy();
  sync_block();
}
void start_product(AccumulatorFragment (&sums)[8], int step = 0) {
  wgmma_fence(sums);
  wgmma<bf16, false>(sums, matrix_at(0, step), matrix_at(1, step), true);
  wgmma_commit();
}

}  // namespace

TEST_CASE("wgmma: sums of products of tiles, of which every site is missed") {
  const auto a = random_tensor<bf16>(Shape{summed_rounds, tile}, 1, 1),
             b = random_tensor<bf16>(Shape{summed_rounds, tile}, 2, 1);
  std::vector<double> exact(tile), size(tile);
  for (int round = 0; round < summed_rounds; ++round)
    for (int i = 0; i < tile; ++i)
      for (int k = 0; k < 64; ++k) {
        const double product = to_double(a.data()[round * tile + i / 64 * 64 + k]) *
                               to_double(b.data()[round * tile + i % 64 * 64 + k]);
        exact[static_cast<std::size_t>(i)] += product;
        size[static_cast<std::size_t>(i)] += std::abs(product);
      }
  const auto test = [&] {
    std::vector<f32> d(tile);
    launch("sum_products", sum_products, {{}, threads, tiles_bytes}, {},
           GlobalPointer<const bf16>(global_pointer(a.data(), a.elements())),
           GlobalPointer<const bf16>(global_pointer(b.data(), b.elements())), global_pointer(d.data(), tile));
    for (std::size_t i = 0; i < tile; ++i)  // as above, for the groups of 8 of a depth of 64 in each round
      if (!(std::abs(d[i] - exact[i]) <= summed_rounds * 8 * 11 * std::ldexp(size[i], -24))) return false;
    return true;
  };
  const simt::Proof proof = simt::prove(test);
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  if (!simt::watched_for_races()) CHECK(proof.verdicts.size() == 6);
}

TEST_CASE("wgmma: sums are not there before the wait, and what a thread writes not before its fence") {
  const auto kernel = +[](GlobalPointer<f32> to, bool all_fence) {
    const auto barrier = static_shared<Mbarrier, 1, struct Begin>();
    if (thread_index() == 0) init_mbarrier(barrier, 1);
    sync_block();
    for (int i = thread_index(); i < tile; i += threads) tile_at(0)[i] = tile_at(1)[i] = bf16{0};
    if (all_fence || thread_index() == 0) fence_async_proxy();
    sync_block();
    AccumulatorFragment sums[8];
    start_product(sums);
    if (thread_index() == 77) to[0] = sums[3].values[1];
    wgmma_wait<0>(sums);
    if (thread_index() == 77) to[1] = sums[3].values[1];
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const simt::Session session({.seed = seed});
    f32 got[2] = {};
    launch("early", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 2), true);
    CHECK(std::isnan(got[0]));
    CHECK(got[1] == 0);
    launch("unfenced", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 2), false);
    CHECK(std::isnan(got[1]));
  }
}

TEST_CASE("wgmma: registers that a fence has not seen as they are are unknown to products") {
  const auto kernel = +[](GlobalPointer<f32> to, int change) {
    fill_tiles();
    AccumulatorFragment sums[8];
    Fragment<4> factors[2] = {};
    if (change == 0) wgmma_fence(sums);
    if (change != 0) wgmma_fence(sums, factors);
    if (change == 1) sums[7].values[3] = 1;
    if (change == 2) factors[1].words[2] = 1;
    wgmma<bf16, false>(sums, factors[1], matrix_at(1, 0), true);
    wgmma_commit();
    wgmma_wait<0>(sums);
    to[thread_index()] = sums[5].values[0];
  };
  for (const int change : {0, 1, 2, 3}) {
    std::vector<f32> got(threads);
    launch("fences", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got.data(), threads), change);
    CHECK(std::isnan(got[9]) == (change != 3));
  }
}

TEST_CASE("wgmma: matrices in shared memory are read between the start and the wait") {
  const auto kernel = +[](GlobalPointer<f32> to) {
    fill_tiles();
    AccumulatorFragment sums[8];
    start_product(sums);
    for (int i = thread_index(); i < tile; i += threads) tile_at(0)[i] = tile_at(1)[i] = convert<bf16>(1.0f);
    fence_async_proxy();
    sync_block();
    wgmma_wait<0>(sums);
    if (thread_index() == 0) to[0] = sums[0].values[0];
  };
  std::set<f32> results;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const simt::Session session({.seed = seed});
    f32 got = -1;
    launch("written over", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(&got, 1));
    results.insert(got);
  }
  CHECK(results == std::set<f32>{0, 16});  // before they are written over, and after
}

TEST_CASE("wgmma: groups of products are waited for in their order") {
  const auto kernel = +[](GlobalPointer<f32> to) {
    fill_tiles();
    AccumulatorFragment first[8], second[8];
    start_product(first);
    start_product(second, 1);
    wgmma_wait<1>(first);
    if (thread_index() == 5) to[0] = first[0].values[0], to[1] = second[0].values[0];
    wgmma_wait<0>(second);
    if (thread_index() == 5) to[2] = second[0].values[0];
  };
  f32 got[3] = {};
  launch("groups", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 3));
  CHECK(got[0] == 0);
  CHECK(std::isnan(got[1]));
  CHECK(got[2] == 0);
}

TEST_CASE("wgmma: descriptors are read as they are") {
  const auto with = [](auto change) {
    const auto a = random_tensor<bf16>(Shape{64, depth}, 1, 1),
               b = random_tensor<bf16>(Shape{64, depth}, 2, 1);
    HostTensor<f32> d(Shape{64, 64});
    Layout told{Swizzle::of_128_bytes, false, 64};
    change(told);
    const auto kernel = +[](GlobalPointer<const bf16> from_a, GlobalPointer<const bf16> from_b,
                            GlobalPointer<f32> to, Swizzle swizzle, int stride) {
      const Layout of_a{Swizzle::none, false, 64}, of_b{Swizzle::of_128_bytes, false, 64};
      for (int i = thread_index(); i < 64 * depth; i += threads) {
        tile_at(0)[of_a.place(i / depth, i % depth) / 2] = from_a[i];
        tile_at(1)[of_b.place(i / depth, i % depth) / 2] = from_b[i];
      }
      fence_async_proxy();
      sync_block();
      AccumulatorFragment sums[8];
      wgmma_fence(sums);
      wgmma<bf16, false>(
          sums, smem_descriptor(shared_address(tile_at(0)), Swizzle::none, of_a.leading(), of_a.stride()),
          smem_descriptor(shared_address(tile_at(1)), swizzle, 0, stride), false);
      wgmma_commit();
      wgmma_wait<0>(sums);
      to[thread_index()] = sums[1].values[0];
    };
    launch("descriptors", kernel, {{}, threads, tiles_bytes}, {},
           GlobalPointer<const bf16>(global_pointer(a.data(), a.elements())),
           GlobalPointer<const bf16>(global_pointer(b.data(), b.elements())),
           global_pointer(d.data(), d.elements()), told.swizzle, told.outer * 16);
    return std::vector<f32>(d.data(), d.data() + threads);
  };
  const auto right = with([](Layout&) {});
  CHECK(with([](Layout& b) { b.outer = 56; }) != right);  // a stride between groups of eight rows
  CHECK(with([](Layout& b) { b.swizzle = Swizzle::of_64_bytes; }) != right);
  CHECK(with([](Layout& b) { b.swizzle = Swizzle::none; }) != right);
}

TEST_CASE("wgmma: what no warpgroup does is an error") {
  CHECK_THAT(error_in(96,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums);
                      }),
             Contains("fewer than four warps"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        if (warp_index() < 3) start_product(sums), wgmma_wait<0>(sums);
                      }),
             Contains("warp 3 has started 0 products, and its warpgroup 1"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums, warp_index() == 2 ? 1 : 0);
                        wgmma_wait<0>(sums);
                      }),
             Contains("or of other matrices"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums, lane_index() / 16);
                      }),
             Contains("that are not those of all lanes"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums);
                      }),
             Contains("are still in flight: wgmma at test_wgmma.cpp"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums);
                        sums[2].values[0] = 0;
                        wgmma_wait<0>(sums);
                      }),
             Contains("whose sums have been written to"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        start_product(sums, 4);  // a row further: the pattern would start in its middle
                        wgmma_wait<0>(sums);
                      }),
             Contains("does not start where the pattern of its permutation does"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        AccumulatorFragment sums[8];
                        wgmma_fence(sums);
                        wgmma<bf16, false>(
                            sums, matrix_at(0, 0),
                            smem_descriptor(shared_address(tile_at(1)), Swizzle::of_128_bytes, 0, 2048),
                            true);
                        wgmma_commit();
                        wgmma_wait<0>(sums);
                      }),
             Contains("leaves shared memory"));
}
