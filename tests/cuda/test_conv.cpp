// The device's conv2d against float64, in the emulator: every kind of policy, kernels, strides and paddings,
// pixels that lie apart, overflow.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/conv_runs.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Channels that 16 bytes divide and that they do not; as the networks use them, and unevenly.
const std::vector<ConvCase> cases{{2, 5, 3, 3, 5, 3, 3, 1, 1, 1, 1, 1},
                                  {1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1},
                                  {1, 9, 11, 16, 65, 3, 3, 1, 1, 1, 1, 1},
                                  {2, 8, 6, 16, 8, 3, 3, 2, 0, 0, 1, 1},
                                  {1, 7, 9, 17, 3, 2, 5, 1, 0, 3, 1, 2},
                                  {1, 7, 9, 8, 3, 2, 5, 2, 0, 3, 1, 2},
                                  {1, 6, 7, 24, 9, 1, 1, 2},
                                  {1, 6, 7, 9, 12, 1, 1, 1},
                                  {1, 4, 4, 32, 4, 3, 3, 1, 1, 1, 1, 1}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("cuda: conv2d is within its bound of float64", "[conv]", ProductPolicies) {
  using Types = precisions<TestType, Conv>;
  using S = typename Types::storage;
  using T = typename Types::result;
  std::uint32_t seed = 1;
  for (const ConvCase& c : cases) {
    CAPTURE(c.batch, c.height, c.width, c.channels, c.features, c.kernel_height, c.kernel_width, c.stride);
    const auto x = random_tensor<T>({c.batch, c.height, c.width, c.channels}, ++seed);
    const auto weight = weight_of<S>(c, ++seed), bias = random_tensor<S>({c.features}, ++seed);
    REQUIRE(expected_conv<Types>(c, x, weight, bias).outside(conv_of<TestType, T>(c, x, weight, bias)) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("cuda: conv2d rounds a sum that is exact in f32 exactly once", "[conv]",
                        ProductPolicies) {
  using Types = precisions<TestType, Conv>;
  using S = typename Types::storage;
  using T = typename Types::result;
  if (!std::is_same_v<typename Types::accumulate, f32>) return;
  for (const ConvCase& c : {ConvCase{1, 7, 9, 40, 70, 3, 3, 1, 1, 1, 1, 1}, {2, 9, 9, 50, 9, 1, 1}}) {
    const auto weight = random_integers<S>({c.features, c.channels, c.kernel_height, c.kernel_width}, 2);
    const auto bias = random_integers<S>({c.features}, 3);
    const Shape shape{c.batch, c.height, c.width, c.channels};
    const auto expected = expected_conv<Types>(c, random_integers<T>(shape, 1), weight, bias);
    REQUIRE(expected.inexact(conv_of<TestType, T>(c, random_integers<T>(shape, 1), weight, bias)) == "");
    REQUIRE(expected.inexact(conv_of<TestType, f32>(c, random_integers<f32>(shape, 1), weight, bias)) == "");
  }
}

TEMPLATE_TEST_CASE("cuda: conv2d reads pixels that lie apart, and applies activations", "[conv]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using T = typename TestType::storage;
  using Types = precisions<TestType, Conv>;
  for (const std::int64_t channels : {11, 16}) {
    const ConvCase c{2, 5, 7, channels, 20, 3, 3, 1, 1, 1, 1, 1};
    const auto wide_x = random_tensor<T>({2, 5, 7, 32}, 1);
    const auto x = wide_x.view().columns_between(8, channels);
    const auto weight = weight_of<T>(c, 2), bias = random_tensor<T>({20}, 3);
    REQUIRE(expected_conv<Types>(c, x, weight, bias)
                .outside(conv_of<TestType, T>(c, x, weight, bias, Activate::silu), Activate::silu) == "");
  }
}

TEST_CASE("cuda: inf and NaN reach only the pixels whose patch holds them", "[conv]") {
  using P = Policy<Storage<f16>>;
  for (const std::int64_t channels : {4, 8}) {
    const ConvCase c{1, 8, 9, channels, 6, 3, 3, 1, 1, 1, 1, 1};
    auto x = random_tensor<f16>({1, 8, 9, channels}, 1);
    x.data()[(3 * 9 + 5) * channels] = from_double<f16>(std::nan(""));
    const auto result = conv_of<P, f16>(c, x, weight_of<f16>(c, 2));
    for (std::int64_t y = 0; y < 8; ++y)
      for (std::int64_t z = 0; z < 9; ++z)
        for (std::int64_t f = 0; f < 6; ++f)
          REQUIRE(std::isnan(to_double(result.data()[(y * 9 + z) * 6 + f])) ==
                  (std::abs(y - 3) <= 1 && std::abs(z - 5) <= 1));
  }
}

TEST_CASE("cuda: conv2d takes no pictures", "[conv]") {
  using P = Policy<Storage<f32>>;
  const ConvCase c{0, 8, 8, 4, 5, 3, 3, 1, 1, 1, 1, 1};
  REQUIRE(conv_of<P, f32>(c, Tensor<f32>(Shape{0, 8, 8, 4}), weight_of<f32>(c, 1)).elements() == 0);
}
