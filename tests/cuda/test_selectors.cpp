// What chooses on the host's side: the architecture of a device, the grid of a pointwise kernel; and the
// division of indices.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/index.hpp>
#include <precast/cuda/tile/architecture.hpp>
#include <precast/cuda/tile/flash_attention_tile.hpp>
#include <precast/cuda/tile/map_tile.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/selector.hpp>
#include <precast/error.hpp>

using namespace precast;
using gpu::Architecture;

TEST_CASE("a device works as the newest architecture that is no newer", "[selectors]") {
  CHECK(gpu::closest_architecture(80) == Architecture::sm_80);
  CHECK(gpu::closest_architecture(86) == Architecture::sm_86);
  CHECK(gpu::closest_architecture(87) == Architecture::sm_86);
  CHECK(gpu::closest_architecture(89) == Architecture::sm_89);
  CHECK(gpu::closest_architecture(90) == Architecture::sm_90);
  CHECK(gpu::closest_architecture(103) == Architecture::sm_100);
  CHECK(gpu::closest_architecture(121) == gpu::all_architectures.back());
  CHECK(gpu::closest_architecture(990) == gpu::all_architectures.back());
  CHECK_THROWS_AS(gpu::closest_architecture(75), Error);
}

TEST_CASE("tiles keep within what the narrowest newer architecture gives", "[selectors]") {
  for (const Architecture architecture : gpu::all_architectures) {
    int least = gpu::limits_of(architecture).shared_per_block;
    for (const Architecture newer : gpu::all_architectures)
      if (newer > architecture) least = std::min(least, gpu::limits_of(newer).shared_per_block);
    CHECK(gpu::shared_where_code_runs(architecture) == least);
  }
  CHECK(gpu::shared_where_code_runs(Architecture::sm_80) == 99 << 10);  // sm_86's
  // Of warpgroups, which are sm_90a's, no newer architecture runs any.
  for (const Architecture architecture : gpu::all_architectures)
    for (const auto size : {gpu::MatmulTileSize::small, gpu::MatmulTileSize::large}) {
      CAPTURE(static_cast<int>(architecture));
      const gpu::MatmulTile tile = gpu::select_matmul_tile(architecture, size, false);
      CHECK(!tile.warpgroups);
      CHECK(tile.shared_bytes() <= gpu::shared_where_code_runs(architecture));
      const gpu::MatmulTile for_sm_90a = gpu::select_matmul_tile(architecture, size, true);
      CHECK(for_sm_90a.warpgroups == (architecture == Architecture::sm_90));
      CHECK(for_sm_90a.shared_bytes() <= gpu::limits_of(architecture).shared_per_block);
    }
  CHECK(std::is_sorted(gpu::all_architectures.begin(), gpu::all_architectures.end()));
}

TEST_CASE("kernels of the emulator take the tile of the architecture that is asked for", "[selectors]") {
  using Attends = gpu::FlashAttentionSelector<f32, false, 128, false>;
  using Multiplies = gpu::MatmulSelector<gpu::MatmulTileSize::large>;
  int differ = 0;
  for (const Architecture architecture : gpu::all_architectures) {
    gpu::visit_selectors<Attends, Multiplies>(architecture, [&](auto attends, auto multiplies) {
      for (const Architecture any : gpu::all_architectures) {
        CHECK(attends.tile(any) == Attends::tile(architecture));
        CHECK(multiplies.tile(any) == Multiplies::tile(architecture));
      }
    });
    if (Attends::tile(architecture) != Attends::tile(Architecture::sm_80)) ++differ;
  }
  CHECK(differ > 0);
}

TEST_CASE("a pointwise grid covers every value once, and no row twice", "[selectors]") {
  for (const std::int64_t rows : {1, 2, 7, 255, 4608})
    for (const std::int64_t columns : {1, 7, 8, 16, 17, 100, 3072, 4096, 4097, 100000})
      for (const int values_of_run : {1, 4, 8}) {
        CAPTURE(rows, columns, values_of_run);
        const gpu::MapPlan plan = gpu::plan_map(rows, columns, values_of_run);
        REQUIRE(std::has_single_bit(static_cast<unsigned>(plan.lanes)));
        REQUIRE(plan.lanes * plan.rows_per_block() == gpu::map_tile.threads);
        const std::int64_t values = std::int64_t{values_of_run} * gpu::map_tile.runs * plan.lanes;
        // Blocks of a row reach its end, and the last of them has work.
        CHECK(plan.blocks_per_row * values >= columns);
        CHECK((plan.blocks_per_row - 1) * values < columns);
        REQUIRE(plan.blocks % plan.blocks_per_row == 0);
        const std::int64_t groups = plan.blocks / plan.blocks_per_row;
        CHECK(groups * plan.rows_per_block() >= rows);
        CHECK((groups - 1) * plan.rows_per_block() < rows);
      }
}

TEST_CASE("an index is divided alike in 32 bits, in 64, and by a multiplication", "[selectors]") {
  const std::vector<std::int64_t> numbers = {
      1,          2,          3,          7,          4607,        0x3fffffff,  0x40000000,
      0x7ffffffe, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, 0x123456789abcdef};
  for (const std::int64_t index : numbers)
    for (const std::int64_t by : numbers) {
      CAPTURE(index, by);
      const auto [quotient, rest] = gpu::divide_index(index, by);
      CHECK(quotient == index / by);
      CHECK(rest == index % by);
      const gpu::DividedIndex by_product = gpu::Divisor(by).divide(index);
      CHECK(by_product.quotient == index / by);
      CHECK(by_product.rest == index % by);
    }
  CHECK(gpu::divide_index(0, 5).quotient == 0);
  CHECK(gpu::Divisor(5).divide(0).quotient == 0);
  CHECK(gpu::Divisor{}.divide(7).quotient == 7);
  // Around every multiple that a rounded reciprocal could miss.
  for (std::int64_t by = 1; by < 0x80000000; by += by / 3 + 1)
    for (std::int64_t quotient = 0x7fffffff / by; quotient > 0; quotient /= 2)
      for (const std::int64_t index : {quotient * by - 1, quotient * by, quotient * by + by - 1})
        if (index < 0x80000000) REQUIRE(gpu::Divisor(by).divide(index).quotient == index / by);
}
