// The weights of products: filled in order, once, in the layout that their kernels read.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>
#include <support/products.hpp>

#include <precast/memory/memory.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/matmul_gradient.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/policy/gradient_table.hpp>

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

TEMPLATE_TEST_CASE("few rows meet a weight that is borrowed for one product within their bound of float64",
                   "[linear]", F32, Bf16, F16, E4m3, Tf32, Bf16OfF32, Bf16OfF16, F16OfE4m3) {
  using P = TestType;
  using S = typename P::storage;
  using Types = precisions<P, Matmul>;
  for (const std::int64_t features : {1, 16, 63, 64, 150})
    for (const std::int64_t columns : {1, 33, 64, 531}) {
      const auto all = random_tensor<S>({features, columns + 3}, 1), bias = random_tensor<S>({features}, 2);
      const auto weight = all.view().columns_between(2, columns);  // rows that lie apart
      for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
        CAPTURE(features, columns, rows);
        const auto x = random_tensor<typename P::activation>({rows, columns}, 3);
        Tensor<typename P::activation> y(Shape{rows, features});
        linear_into<P>(x, weight, bias, y);
        REQUIRE(expected_products<Types>(x, weight, bias).outside(y) == "");
        // A row alone has the bits that it has among others.
        Tensor<typename P::activation> alone(Shape{1, features});
        linear_into<P>(x.view().rows_between(rows - 1, 1), weight, bias, alone);
        if (rows <= 4)
          REQUIRE(std::memcmp(alone.data(), y.view().row(rows - 1).data(),
                              sizeof(*alone.data()) * static_cast<std::size_t>(features)) == 0);
      }
    }
}

TEMPLATE_TEST_CASE("a product of few rows and a borrowed weight takes no memory for the weight",
                   "[linear][matmul]", F32, Bf16, F16, Bf16OfF32) {
  using P = TestType;
  const auto weight = random_tensor<typename P::storage>({500, 700}, 1);
  const auto x = random_tensor<typename P::activation>({4, 700}, 2);
  Tensor<typename P::activation> y(Shape{4, 500});
  Tensor<typename training<P>::gradient> dy(y.shape());
  const auto taken_by = [](const auto& product) {
    release_cached_memory();
    reset_peak_memory();
    const std::int64_t before = memory_use().in_use;
    product();
    return memory_use().peak - before;
  };
  const std::int64_t few = 4 * 700 * std::int64_t{sizeof(f32)} + 4096;  // x as operands
  CHECK(taken_by([&] { linear_into<P>(x, weight, y); }) <= few);
  CHECK(taken_by([&] { matmul_transposed_into<P>(x, weight, y); }) <= few);
  CHECK(taken_by([&] { matmul_left_gradient_into<P>(x, weight, dy); }) <= few);
}
