// Products in tile registers against sums in float64, for every number of rows of two strips of tiles, from
// rows and from tiles; and that nothing around the sums is touched.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/skip.hpp>

#include <precast/host/matmul/tiled_operands.hpp>
#include <precast/host/simd/tile_registers.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("tile registers: products of any number of rows are within their bound", "[host]") {
  if (!host::tile_registers_usable()) return skip("this CPU, or this build, has no tile registers");
  if constexpr (host::has_tile_registers) {
    constexpr std::int64_t gap = 3;
    for (const std::int64_t depth : {32, 96})
      for (const std::int64_t columns : {16, 32, 48, 64})
        for (std::int64_t rows = 1; rows <= 70; rows += rows < 34 ? 1 : 9)
          for (const auto& [add, tiled] : {std::pair{false, false}, {true, false}, {false, true}}) {
            CAPTURE(depth, columns, rows, add, tiled);
            const auto a = random_tensor<bf16>({rows, depth}, 1),
                       b = random_tensor<bf16>({depth, columns}, 2);
            std::vector<bf16> pairs(static_cast<std::size_t>(depth * columns));
            for (std::int64_t k = 0; k < depth; ++k)
              for (std::int64_t c = 0; c < columns; ++c)
                pairs[static_cast<std::size_t>((k / 2 * columns + c) * 2 + k % 2)] =
                    b.data()[k * columns + c];
            const std::int64_t stride = columns + gap;
            std::vector<f32> sums(static_cast<std::size_t>((rows + 1) * stride), 0.5f);
            const host::TiledOperands<bf16, false, bf16> tiles(a.view());
            host::multiply_in_tile_registers(
                tiled ? tiles.from_row(0) : a.data(),
                tiled ? host::TileLayout::tiles(depth) : host::TileLayout::rows(depth), pairs.data(),
                2 * columns, depth, sums.data(), stride, add, rows, columns);
            bool right = true;
            for (std::int64_t r = 0; r <= rows; ++r)
              for (std::int64_t c = 0; c < stride; ++c) {
                const double got = sums[static_cast<std::size_t>(r * stride + c)];
                if (r == rows || c >= columns) {
                  right = right && got == 0.5;
                  continue;
                }
                double expected = add ? 0.5 : 0, size = expected;
                for (std::int64_t k = 0; k < depth; ++k) {
                  const double product =
                      to_double(a.data()[r * depth + k]) * to_double(b.data()[k * columns + c]);
                  expected += product;
                  size += std::abs(product);
                }
                // One rounding of a sum for each product, and one for what was there.
                right = right && std::abs(got - expected) <= static_cast<double>(depth + 1) * 0x1p-24 * size;
              }
            REQUIRE(right);
          }
  }
}
