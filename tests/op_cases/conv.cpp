// conv2d on this translation unit's backend against float64: every kind of policy, kernels, strides and
// paddings, pixels that lie apart, overflow.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <catch2/catch.hpp>
#include <op_cases/conv_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/products.hpp>

#include <precast/ops/conv.hpp>
#include <precast/ops/linear.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

ConvOptions options_of(const ConvCase& c, ActivationFunction activation = ActivationFunction::none) {
  return {c.stride, c.pad_top, c.pad_left, c.pad_bottom, c.pad_right, activation};
}

template <class P, ScalarArray X>
auto conv_of(const ConvCase& c, const X& x, const HostTensor<typename P::storage>& weight,
             const HostTensor<typename P::storage>& bias = {},
             ActivationFunction activate = ActivationFunction::none) {
  return conv2d<P>(x, ConvWeight<P>(weight, bias.values()), options_of(c, activate));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("conv2d is within its bound of float64", "[conv]", ProductPolicies) {
  using Types = precisions<TestType, Conv>;
  using S = typename Types::storage;
  std::uint32_t seed = 1;
  for (const ConvCase& c : affordable(conv_cases)) {
    CAPTURE(c.batch, c.height, c.width, c.channels, c.features, c.kernel_height, c.kernel_width, c.stride);
    const auto x = random_tensor<typename Types::result>(c.picture(), ++seed);
    const auto weight = random_tensor<S>(c.weight(), ++seed, 0.3),
               bias = random_tensor<S>({c.features}, ++seed);
    const auto run = [&] { return conv_of<TestType>(c, sent(x), weight, bias); };
    CHECK(expected_conv<Types>(c, x, weight, bias).outside(run()) == "");
    check_repeats(run);
  }
}

TEMPLATE_LIST_TEST_CASE("conv2d rounds a sum that is exact in f32 exactly once", "[conv]", ExactSumPolicies) {
  using Types = precisions<TestType, Conv>;
  using S = typename Types::storage;
  using T = typename Types::result;
  constexpr ConvCase cases[] = {{1, 7, 9, 40, 66, 3, 3, 1, 1, 1, 1, 1},
                                {2, 9, 9, 50, 9, 1, 1},
                                {1, 8, 10, 17, 9, 3, 3, 2, 0, 0, 1, 1},
                                {1, 40, 41, 40, 20, 3, 3, 1, 1, 1, 1, 1}};
  for (const ConvCase& c : affordable(cases)) {
    CAPTURE(c.height, c.width);
    const auto weight = random_integers<S>(c.weight(), 2), bias = random_integers<S>({c.features}, 3);
    const auto expected = expected_conv<Types>(c, random_integers<T>(c.picture(), 1), weight, bias);
    CHECK(expected.inexact(conv_of<TestType>(c, sent(random_integers<T>(c.picture(), 1)), weight, bias)) ==
          "");
    CHECK(expected.inexact(conv_of<TestType>(c, sent(random_integers<f32>(c.picture(), 1)), weight, bias)) ==
          "");
  }
}

TEMPLATE_LIST_TEST_CASE("conv2d applies activations before its one rounding", "[conv]", PlainPolicies) {
  using T = typename TestType::storage;
  constexpr ConvCase cases[] = {{1, 6, 9, 12, 33, 3, 3, 1, 1, 1, 1, 1},
                                {2, 3, 4, 16, 8, 1, 1},
                                {1, 60, 30, 12, 33, 3, 3, 1, 1, 1, 1, 1}};
  for (const ConvCase& c : cases) {
    if (c.multiplications() > most_multiplications) continue;
    for (const ActivationFunction activate : every_activation) {
      CAPTURE(c.height, to_string(activate));
      const auto x = random_tensor<T>(c.picture(), 1), weight = random_tensor<T>(c.weight(), 2, 0.2),
                 bias = random_tensor<T>({c.features}, 3);
      CHECK(expected_conv<precisions<TestType, Conv>>(c, x, weight, bias)
                .outside(conv_of<TestType>(c, sent(x), weight, bias, activate), activate) == "");
    }
  }
}

TEMPLATE_LIST_TEST_CASE("conv2d reads pixels that lie apart", "[conv]", PlainPolicies) {
  using T = typename TestType::storage;
  for (const std::int64_t height : {5, 40})
    for (const std::int64_t channels : {11, 16})
      for (const std::int64_t first : {8, 9}) {  // where a vector begins, and where none does
        const ConvCase c{2, height, 7, channels, 20, 3, 3, 1, 1, 1, 1, 1};
        CAPTURE(height, channels, first);
        const auto x = random_integers<T>({2, height, 7, 32}, 1);
        const auto weight = random_integers<T>(c.weight(), 2), bias = random_integers<T>({20}, 3);
        const Tensor<T> there = sent(x);
        CHECK(expected_conv<precisions<TestType, Conv>>(c, x.view().columns_between(first, channels), weight,
                                                        bias)
                  .inexact(conv_of<TestType>(c, there.view().columns_between(first, channels), weight,
                                             bias)) == "");
      }
}

TEST_CASE("a result in a weight that is borrowed is refused where it is read in its place",
          "[linear][conv]") {
  Tensor<f32> weight = sent(random_tensor<f32>({8, 1, 1, 8}, 1));
  const auto x = sent(random_tensor<f32>({1, 2, 1, 8}, 2));
  const View<f32> out(weight.data() + 20, Shape{1, 2, 1, 8});
  const auto expect = [](auto&& run) {
    if constexpr (backend::Memory::on_host)  // which packs a copy
      CHECK_NOTHROW(run());
    else
      CHECK_THROWS_WITH(run(), Catch::Contains("overlaps the memory of the operand [8, 8]"));
  };
  expect([&] { conv2d_into<F32>(x, ConvWeight<F32>::borrowed(std::as_const(weight)), {}, out); });
  const auto matrix = std::as_const(weight).view().reshaped({8, 8});
  expect([&] { linear_into<F32>(x, LinearWeight<F32>::borrowed(matrix), out); });
}

TEMPLATE_TEST_CASE("a convolution's weight that lies where ops read it is multiplied there", "[conv]", F32,
                   Bf16, Tf32, Bf16OfF32) {
  using P = TestType;
  using S = typename ConvWeight<P>::Storage;
  for (const std::int64_t channels : {3, 8})
    for (const std::int64_t side : {1, 3}) {
      CAPTURE(channels, side);
      const auto pixels = random_tensor<S>({5, side, side, channels}, 1), bias = random_tensor<S>({5}, 2);
      HostTensor<S> in_a_file(Shape{5, channels, side, side});
      for (std::int64_t row = 0; row < 5 * side * side; ++row)
        for (std::int64_t c = 0; c < channels; ++c)
          in_a_file.data()[(row / (side * side) * channels + c) * side * side + row % (side * side)] =
              pixels.data()[row * channels + c];
      const auto there = sent(pixels), bias_there = sent(bias);
      const auto borrowed = ConvWeight<P>::borrowed(there, bias_there);
      const auto x = sent(random_tensor<typename P::activation>({2, 5, 4, channels}, 3));
      const ConvOptions options{.pad_top = 1, .pad_right = 1};
      CHECK(same_bits(conv2d<P>(x, borrowed, options),
                      conv2d<P>(x, ConvWeight<P>(in_a_file, bias.values()), options)));
      CHECK(same_bits(conv2d<P>(x, ConvWeight<P>::borrowed(there), options),
                      conv2d<P>(x, ConvWeight<P>(in_a_file), options)));
    }
  const Tensor<S> matrix(Shape{6, 8}), nothing(Shape{0, 1, 1, 4}), there(Shape{4, 3, 3, 8}),
      too_short(Shape{3});
  CHECK_THROWS_WITH(ConvWeight<P>::borrowed(matrix), Catch::Contains("four dimensions, not [6, 8]"));
  CHECK_THROWS_WITH(ConvWeight<P>::borrowed(nothing), Catch::Contains("[0, 1, 1, 4] is empty"));
  CHECK_THROWS_WITH(ConvWeight<P>::borrowed(there, too_short), Catch::Contains("a bias of 3 does not fit"));
  CHECK_THROWS_WITH(ConvWeight<P>::borrowed(there.view().columns_between(0, 4)),
                    Catch::Contains("cannot view [4, 3, 3, 4] as [4, 36]"));
}

TEST_CASE("inf and NaN reach only the pixels whose patch holds them", "[conv]") {
  for (const std::int64_t height : {8, 64})
    for (const std::int64_t channels : {4, 8}) {
      const ConvCase c{1, height, 9, channels, 6, 3, 3, 1, 1, 1, 1, 1};
      auto x = random_tensor<f16>(c.picture(), 1);
      x.data()[(3 * 9 + 5) * channels] = from_double<f16>(std::nan(""));
      const auto result = wide(conv_of<F16>(c, sent(x), random_tensor<f16>(c.weight(), 2)));
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(result.size()); ++i)
        REQUIRE(std::isnan(result[static_cast<std::size_t>(i)]) ==
                (std::abs(i / 54 - 3) <= 1 && std::abs(i / 6 % 9 - 5) <= 1));
    }
}

TEST_CASE("a result of conv2d above the range becomes inf, or the largest number where the policy saturates",
          "[conv]") {
  for (const std::int64_t height : {4, 64}) {
    const ConvCase c{1, height, 32, 4, 2, 1, 2};
    const auto x = sent(filled<f16>(c.picture(), 20000));
    const auto weight = filled<f16>(c.weight(), -1);
    REQUIRE(wide(conv_of<F16>(c, x, weight))[5] == -std::numeric_limits<double>::infinity());
    REQUIRE(wide(conv_of<F16Saturate>(c, x, weight))[5] == -65504);
  }
}
