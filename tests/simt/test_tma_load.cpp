// The TMA: boxes and what lies outside of their tensor, permuted chunks, and the barriers that wait
// for them.
#include <array>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/tensor_map.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/tensor/view.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

constexpr int rows = 8, columns = 64, box = rows * columns, box_bytes = 2 * box;

/// [2, 3, 11, 72] values that are their own places.
struct Source {
  static constexpr std::array<std::int64_t, 4> sizes{72, 11, 3, 2};
  static constexpr std::int64_t count = 72 * 11 * 3 * 2;
  alignas(16) bf16 values[count];

  Source() {
    for (std::int64_t i = 0; i < count; ++i) values[i].bits = static_cast<std::uint16_t>(i);
  }
  GlobalPointer<const bf16> pointer() const { return global_pointer(values, count); }
  TensorMap map(Swizzle swizzle, std::array<int, 4> sides = {columns, rows, 1, 1}) const {
    return make_tensor_map<bf16>(pointer(), {sizes, {72, 72 * 11, 72 * 11 * 3}, sides, swizzle});
  }
  /// What a copy brings: 0 outside.
  static std::uint16_t at(int column, int row, int matrix, int batch) {
    const bool inside = column >= 0 && column < 72 && row >= 0 && row < 11 && matrix >= 0 && matrix < 3;
    return inside ? static_cast<std::uint16_t>(((batch * 3 + matrix) * 11 + row) * 72 + column)
                  : std::uint16_t{0};
  }
};

/// Copies one box, and writes what is in shared memory then.
PRECAST_KERNEL void copy_one(PRECAST_GRID_CONSTANT const TensorMap from, BoxPlace at, int offset,
                             GlobalPointer<std::uint16_t> to) {
  const auto barrier = static_shared<Mbarrier, 1, struct Landed>();
  const std::size_t start = padding_to<1024>() + static_cast<std::size_t>(offset);
  const auto place = dynamic_shared<std::uint16_t>(start, box);
  if (thread_index() == 0) {
    init_mbarrier(barrier, 1);
    fence_async_proxy();
    tma_load(place, from, at, barrier);  // may land before it is announced
    arrive_expect_tx(barrier, box_bytes);
  }
  sync_block();
  wait_parity(barrier, 0);
  for (int i = thread_index(); i < box; i += threads_in_block()) to[i] = place[i];
}

std::vector<std::uint16_t> copied(const Source& source, BoxPlace at, Swizzle swizzle, int offset = 0) {
  std::vector<std::uint16_t> got(box);
  launch("copy_one", copy_one, {{}, 64, box_bytes + 1024 + 1024}, {}, source.map(swizzle), at, offset,
         global_pointer(got.data(), box));
  return got;
}

constexpr int steps = 5;

/// One thread brings boxes, the rest of the block sums them up, two boxes in turn.
PRECAST_KERNEL void sum_boxes(PRECAST_GRID_CONSTANT const TensorMap from, GlobalPointer<int> to) {
  const auto full = static_shared<Mbarrier, 2, struct Full>(),
             empty = static_shared<Mbarrier, 2, struct Empty>();
  const std::size_t start = padding_to<1024>();
  const auto place = [&](int step) {
    return dynamic_shared<std::uint16_t>(start + static_cast<std::size_t>(step % 2 * box_bytes), box);
  };
  if (thread_index() == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      init_mbarrier(full + stage, 1);
      init_mbarrier(empty + stage, 32);
    }
    fence_async_proxy();
  }
  sync_block();
  if (warp_index() == 1) {
    if (lane_index() == 0)
      for (int step = 0; step < steps; ++step) {
        wait_parity(empty + step % 2, step / 2 % 2 ^ 1);
        arrive_expect_tx(full + step % 2, box_bytes);
        tma_load(place(step), from, {8 * step, step, 0, 0}, full + step % 2);
      }
    return;
  }
  int sum = 0;
  for (int step = 0; step < steps; ++step) {
    wait_parity(full + step % 2, step / 2 % 2);
    for (int i = 0; i < box; i += 32) sum += place(step)[i + lane_index()] * (i + 1);
    arrive(empty + step % 2);
  }
  to[lane_index()] = sum;
}

bool sums_boxes() {
  const Source source;
  std::vector<int> got(32), expected(32);
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < box; ++i)
      expected[static_cast<std::size_t>(i % 32)] +=
          Source::at(8 * step + i % columns, step + i / columns, 0, 0) * (i / 32 * 32 + 1);
  launch("sum_boxes", sum_boxes, {{}, 64, 2 * box_bytes + 1024}, {}, source.map(Swizzle::none),
         global_pointer(got.data(), 32));
  return got == expected;
}

}  // namespace

TEST_CASE("bulk copies: a box, with zeros where the tensor has nothing") {
  const Source source;
  for (const auto copies : {simt::Copies::early, simt::Copies::late}) {
    const simt::Session session({.copies = copies});
    for (const BoxPlace at :
         {BoxPlace{0, 0, 0, 0}, {8, 3, 1, 1}, {16, 5, 2, 0}, {-8, -2, 1, 0}, {0, 0, 3, 0}}) {
      const auto got = copied(source, at, Swizzle::none);
      int wrong = 0;
      for (int i = 0; i < box; ++i)
        wrong += got[static_cast<std::size_t>(i)] !=
                 Source::at(at.column + i % columns, at.second + i / columns, at.third, at.fourth);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("bulk copies: chunks of 16 bytes are exchanged by the bits of their address") {
  const Source source;
  // On a multiple of 1024 bytes, and three rows behind one: the pattern belongs to the addresses.
  for (const int offset : {0, 3 * 128}) {
    const auto got = copied(source, {0, 1, 0, 0}, Swizzle::of_128_bytes, offset);
    int wrong = 0;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const int turn = (row + offset / 128) % 8, chunk = column / 8 ^ turn;
        wrong += got[static_cast<std::size_t>(row * columns + chunk * 8 + column % 8)] !=
                 Source::at(column, row + 1, 0, 0);
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("bulk copies: a ring of boxes, of which every site is missed") {
  const simt::Proof proof = simt::prove(sums_boxes);
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  if (!simt::watched_for_races()) CHECK(proof.verdicts.size() == 6);
}

TEST_CASE("bulk copies: places, barriers and ends that are wrong are errors") {
  const Source source;
  CHECK_THROWS_AS(copied(source, {}, Swizzle::none, 64), simt::Misaligned);
  const auto unseen = +[](const TensorMap from) {
    const auto barrier = static_shared<Mbarrier, 1, struct Unseen>();
    init_mbarrier(barrier, 1);
    tma_load(dynamic_shared<std::uint16_t>(0, box), from, {}, barrier);
  };
  CHECK_THROWS_AS(launch("unseen", unseen, {{}, 1, box_bytes}, {}, source.map(Swizzle::none)),
                  simt::BadArgument);
  const auto outside = +[](const TensorMap from) {
    const auto barrier = static_shared<Mbarrier, 1, struct Outside>();
    tma_load(dynamic_shared<std::uint16_t>(0, box - 8), from, {}, barrier);
  };
  CHECK_THROWS_AS(launch("outside", outside, {{}, 1, box_bytes}, {}, source.map(Swizzle::none)),
                  simt::OutOfBounds);
  const auto unfinished = +[](const TensorMap from) {
    const auto barrier = static_shared<Mbarrier, 1, struct Unfinished>();
    init_mbarrier(barrier, 1);
    fence_async_proxy();
    tma_load(dynamic_shared<std::uint16_t>(0, box), from, {}, barrier);
  };
  CHECK_THROWS_AS(launch("unfinished", unfinished, {{}, 1, box_bytes}, {}, source.map(Swizzle::none)),
                  simt::Unfinished);
}

TEST_CASE("bulk copies: what the TMA does not take has no map") {
  const Source source;
  const std::array<std::int64_t, 3> strides{72, 72 * 11, 72 * 11 * 3};
  const auto map = [&](GlobalPointer<const bf16> data, const BoxedTensor& of) {
    make_tensor_map<bf16>(data, of);
  };
  CHECK_NOTHROW(map(source.pointer(), {{72, 11, 3, 1}, strides, {64, 256, 1, 1}, Swizzle::of_128_bytes}));
  CHECK_THROWS_AS(map(source.pointer() + 4, {{68, 11, 3, 1}, strides, {64, 8, 1, 1}, Swizzle::none}), Error);
  CHECK_THROWS_AS(
      map(source.pointer(), {{72, 11, 3, 1}, {71, 71 * 11, 71 * 33}, {64, 8, 1, 1}, Swizzle::none}), Error);
  const std::array<std::int64_t, 3> closer{72, 80, 80 * 3};  // no multiple of the one before
  CHECK_THROWS_AS(map(source.pointer(), {{72, 2, 3, 1}, closer, {64, 1, 8, 1}, Swizzle::none}), Error);
  CHECK_THROWS_AS(map(source.pointer(), {{72, 11, 3, 1}, strides, {64, 257, 1, 1}, Swizzle::none}), Error);
  CHECK_THROWS_AS(map(source.pointer(), {{72, 11, 3, 1}, strides, {128, 8, 1, 1}, Swizzle::of_128_bytes}),
                  Error);
  CHECK_THROWS_AS(map(source.pointer(), {{72, 11, 4, 2}, strides, {64, 8, 1, 1}, Swizzle::none}), Error);
}
