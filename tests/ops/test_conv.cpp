// conv2d against float64: every kind of policy, kernels, strides and paddings, pictures on both sides of the
// size where oneDNN's own convolution takes over, threads.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/products.hpp>

#include <precast/ops/conv.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct Case {
  std::int64_t batch, height, width, channels, features, kernel_height, kernel_width;
  ConvShape shape;
};

const ConvShape around{.stride = 1, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};

template <class Types, class X, class S>
ExpectedSums<Types> expected_sums(const Case& c, const X& x, const Tensor<S>& weight, const Tensor<S>& bias) {
  const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
  const std::int64_t rows =
      (c.height + c.shape.pad_top + c.shape.pad_bottom - c.kernel_height) / c.shape.stride + 1;
  const std::int64_t columns =
      (c.width + c.shape.pad_left + c.shape.pad_right - c.kernel_width) / c.shape.stride + 1;
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  ExpectedSums<Types> sums;
  for (std::int64_t pixel = 0; pixel < c.batch * rows * columns; ++pixel)
    for (std::int64_t f = 0; f < c.features; ++f) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < c.kernel_height; ++i)
        for (std::int64_t j = 0; j < c.kernel_width; ++j) {
          const std::int64_t y = pixel / columns % rows * c.shape.stride + i - c.shape.pad_top;
          const std::int64_t z = pixel % columns * c.shape.stride + j - c.shape.pad_left;
          if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
          const double* from =
              wide_x.data() + ((pixel / columns / rows * c.height + y) * c.width + z) * c.channels;
          const double* with = wide_weight.data() + f * c.channels * taps + i * c.kernel_width + j;
          for (std::int64_t k = 0; k < c.channels; ++k) {
            sum += from[k] * with[k * taps];
            magnitude += std::abs(from[k] * with[k * taps]);
          }
        }
      sums.add(sum, magnitude, taps * c.channels,
               wide_bias.empty() ? 0 : wide_bias[static_cast<std::size_t>(f)]);
    }
  return sums;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [height, width] : {std::pair{1, 1}, {5, 3}, {31, 33}, {34, 35}, {45, 47}})
    for (const auto& [channels, features] : {std::pair{1, 1}, {3, 5}, {17, 3}, {4, 64}, {5, 128}, {16, 65}})
      for (const std::int64_t stride : {1, 2}) {
        const bool large = height > 30;
        if (large && channels == 1) continue;
        // As the networks use them, and unevenly.
        ConvShape even = around;
        even.stride = stride;
        all.push_back({large ? 1 : 2, height, width, channels, features, 3, 3, even});
        all.push_back({1, height, width, channels, features, 1, 1, {.stride = stride}});
        if (features != 5 && features != 64) continue;
        const std::int64_t down = stride == 2 ? 0 : 1;  // a VAE's downsampling pads right and bottom only
        all.push_back({2, height + 1, width + 2, channels, features, 3, 3, {stride, down, 0, 1, 1}});
        all.push_back({1, height + 1, width + 4, channels, features, 2, 5, {stride, 0, 3, 1, 2}});
      }
  return all;
}

template <class P, class X>
auto run(const Case& c, const X& x, const Tensor<typename P::storage>& weight,
         const Tensor<typename P::storage>& bias, Activate activate = Activate::none) {
  return conv2d<P>(x, ConvWeight<P>(weight, bias.values()), c.shape, activate);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("conv2d is within its bound of float64", "[conv]", ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Conv>;
  using S = typename Types::storage;
  using T = typename Types::result;
  std::uint32_t seed = 1;
  for (const Case& c : cases()) {
    CAPTURE(c.batch, c.height, c.width, c.channels, c.features, c.kernel_height, c.kernel_width,
            c.shape.stride);
    const Shape weight_shape{c.features, c.channels, c.kernel_height, c.kernel_width};
    const auto x = random_tensor<T>({c.batch, c.height, c.width, c.channels}, ++seed);
    const auto weight = random_tensor<S>(weight_shape, ++seed, 0.3),
               bias = random_tensor<S>({c.features}, ++seed);
    REQUIRE(expected_sums<Types>(c, x, weight, bias).outside(run<P>(c, x, weight, bias)) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("conv2d rounds a sum that is exact in f32 exactly once", "[conv]", ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Conv>;
  using S = typename Types::storage;
  using T = typename Types::result;
  if (!std::is_same_v<typename Types::accumulate, f32>) return;
  for (const Case& c :
       {Case{1, 7, 9, 40, 70, 3, 3, around}, {1, 40, 41, 40, 20, 3, 3, around}, {2, 9, 9, 50, 9, 1, 1, {}}}) {
    CAPTURE(c.height, c.width);
    const auto weight = random_integers<S>({c.features, c.channels, c.kernel_height, c.kernel_width}, 2);
    const auto bias = random_integers<S>({c.features}, 3);
    const Shape shape{c.batch, c.height, c.width, c.channels};
    const auto expected = expected_sums<Types>(c, random_integers<T>(shape, 1), weight, bias);
    REQUIRE(expected.inexact(run<P>(c, random_integers<T>(shape, 1), weight, bias)) == "");
    REQUIRE(expected.inexact(run<P>(c, random_integers<f32>(shape, 1), weight, bias)) == "");
  }
}

TEMPLATE_TEST_CASE("conv2d applies activations before its one rounding", "[conv]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using P = TestType;
  using T = typename P::storage;
  for (const std::int64_t height : {6, 60})
    for (const Activate activate : {Activate::silu, Activate::gelu_tanh, Activate::relu}) {
      const Case c{1, height, 30, 12, 33, 3, 3, around};
      const auto x = random_tensor<T>({1, height, 30, 12}, 1),
                 weight = random_tensor<T>({33, 12, 3, 3}, 2, 0.2);
      const auto bias = random_tensor<T>({33}, 3);
      REQUIRE(expected_sums<precisions<P, Conv>>(c, x, weight, bias)
                  .outside(run<P>(c, x, weight, bias, activate), activate) == "");
    }
}

TEMPLATE_TEST_CASE("conv2d reads pixels that lie apart", "[conv]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using P = TestType;
  using T = typename P::storage;
  for (const std::int64_t height : {5, 50}) {
    const Case c{2, height, 30, 11, 20, 3, 3, around};
    const auto wide_x = random_integers<T>({2, height, 30, 29}, 1);
    const auto x = wide_x.view().columns_between(9, 11);
    const auto weight = random_integers<T>({20, 11, 3, 3}, 2), bias = random_integers<T>({20}, 3);
    REQUIRE(expected_sums<precisions<P, Conv>>(c, x, weight, bias).inexact(run<P>(c, x, weight, bias)) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("conv2d has the same bits on any number of threads", "[conv]", ProductPolicies) {
  using P = TestType;
  using T = typename precisions<P, Conv>::result;
  const ConvWeight<P> weight(random_tensor<typename P::storage>({70, 19, 3, 3}, 1));
  for (const std::int64_t height : {9, 90}) {
    const auto x = random_tensor<T>({2, height, 31, 19}, 2);
    REQUIRE(same_on_any_threads([&] { return conv2d<P>(x, weight, around, Activate::silu); }));
  }
}

TEST_CASE("inf and NaN reach only the pixels whose patch holds them", "[conv]") {
  using P = Policy<Storage<f16>>;
  for (const std::int64_t height : {8, 64}) {
    auto x = random_tensor<f16>({1, height, 32, 4}, 1);
    x.data()[(3 * 32 + 5) * 4] = from_double<f16>(std::nan(""));
    const auto result = conv2d<P>(x, ConvWeight<P>(random_tensor<f16>({6, 4, 3, 3}, 2)), around);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t z = 0; z < 32; ++z)
        for (std::int64_t f = 0; f < 6; ++f)
          REQUIRE(std::isnan(to_double(result.data()[(y * 32 + z) * 6 + f])) ==
                  (std::abs(y - 3) <= 1 && std::abs(z - 5) <= 1));
  }
}

TEST_CASE("a result of conv2d above the range becomes inf, or the largest number where the policy saturates",
          "[conv]") {
  using Saturating = Policy<Storage<f16>, Overflow<Saturate>>;
  for (const std::int64_t height : {4, 64}) {
    Tensor<f16> x({1, height, 32, 4}), weight({2, 4, 1, 2});
    for (f16& value : x.values()) value = from_double<f16>(20000);
    for (f16& value : weight.values()) value = from_double<f16>(-1);
    const auto plain = conv2d<Policy<Storage<f16>>>(x, ConvWeight<Policy<Storage<f16>>>(weight));
    const auto saturated = conv2d<Saturating>(x, ConvWeight<Saturating>(weight));
    REQUIRE(to_double(plain.data()[5]) == -std::numeric_limits<double>::infinity());
    REQUIRE(to_double(saturated.data()[5]) == -65504);
  }
}

TEST_CASE("a convolution's weight is filled in order, in the order of files", "[conv]") {
  using P = Policy<Storage<f32>>;
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

TEST_CASE("conv2d takes no pictures, and refuses shapes that do not fit", "[conv]") {
  using P = Policy<Storage<f32>>;
  const ConvWeight<P> weight(random_tensor<f32>({5, 4, 3, 3}, 1));
  REQUIRE(conv2d<P>(Tensor<f32>(Shape{0, 8, 8, 4}), weight, around).shape() == Shape{0, 8, 8, 5});
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 5}), weight, around), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{8, 8, 4}), weight, around), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 2, 8, 4}), weight), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 4}), weight, {.stride = 0}), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 4}), weight, {.stride = 1, .pad_top = -1}),
                    ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(Tensor<f32>(Shape{5, 4, 3})), ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(Tensor<f32>(Shape{5, 0, 3, 3})), ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(random_tensor<f32>({5, 4, 3, 3}, 1), std::vector<f32>(4)), ShapeError);
}
