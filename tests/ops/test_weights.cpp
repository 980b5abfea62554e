// The weights of products: filled in order, once, in the layout that their kernels read.
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/conv.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("a linear weight is filled in order, once", "[linear]") {
  using P = F16;
  std::int64_t next = 0;
  const LinearWeight<P> weight(150, 7, [&](std::int64_t first, View<f16> rows) {
    REQUIRE(first == next);
    REQUIRE(rows.columns() == 7);
    next = first + rows.rows();
    for (std::int64_t r = 0; r < rows.rows(); ++r)
      for (f16& value : rows.row(r)) value = from_double<f16>(static_cast<double>(first + r));
  });
  REQUIRE(next == 150);
  REQUIRE(weight.bytes() == 192 * 16 * 2);  // whole panels
  REQUIRE(weight.bias().elements() == 0);
  for (std::int64_t r = 0; r < 150; ++r)
    REQUIRE(to_double(weight.weight().at(r, 6)) == static_cast<double>(r));
}

TEST_CASE("a convolution's weight is filled in order, in the order of files", "[conv]") {
  using P = F32;
  std::int64_t next = 0;
  const ConvWeight<P> weight(100, 3, 2, 1, [&](std::int64_t first, View<f32> rows) {
    REQUIRE(first == next);
    REQUIRE(rows.columns() == 6);
    next = first + rows.rows();
    for (std::int64_t r = 0; r < rows.rows(); ++r)
      for (std::size_t i = 0; i < 6; ++i)
        rows.row(r)[i] = static_cast<f32>((first + r) * 10) + static_cast<f32>(i);
  });
  REQUIRE(next == 100);
  // [in_channels][kernel_height] in the file, [kernel_height][in_channels] here.
  std::vector<f32> row;
  for (std::int64_t i = 0; i < 6; ++i) row.push_back(weight.weight().at(70, i));
  REQUIRE(row == std::vector<f32>{700, 702, 704, 701, 703, 705});
}

TEST_CASE("a weight that was moved from says so", "[linear][conv]") {
  const auto of = [](std::int64_t out) {
    return LinearWeight<F32>(filled<f32>({out, 4}, 1), std::vector<f32>(static_cast<std::size_t>(out)));
  };
  const auto x = filled<f32>({2, 4}, 1);
  auto given = of(3);
  auto taken = std::move(given);
  CHECK(linear<F32>(x, taken).shape() == Shape{2, 3});
  // NOLINTBEGIN(bugprone-use-after-move)
  CHECK_THROWS_WITH(linear<F32>(x, given), Catch::Contains("was moved from"));
  CHECK_THROWS_AS(TransposedWeight<F32>(given), Error);
  CHECK(given.bytes() == 0);
  auto assigned = of(5);
  given = std::move(assigned);
  CHECK(linear<F32>(x, given).shape() == Shape{2, 5});
  CHECK_THROWS_AS(linear<F32>(x, assigned), Error);
  TransposedWeight<F32> transposed(given);
  const auto kept = std::move(transposed);
  CHECK(linear_input_gradient<F32>(filled<f32>({2, 5}, 1), kept).shape() == Shape{2, 4});
  CHECK_THROWS_AS(linear_input_gradient<F32>(filled<f32>({2, 5}, 1), transposed), Error);
  ConvWeight<F32> pixels(filled<f32>({3, 4, 1, 1}, 1));
  const auto image = filled<f32>({1, 2, 2, 4}, 1);
  const auto other = std::move(pixels);
  CHECK(conv2d<F32>(image, other).shape() == Shape{1, 2, 2, 3});
  CHECK_THROWS_AS(conv2d<F32>(image, pixels), Error);
  // NOLINTEND(bugprone-use-after-move)
}
