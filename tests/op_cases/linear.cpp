// linear and matmul on this translation unit's backend against float64: every kind of policy, sizes around
// the edges of tiles and vectors, views, overflow.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/linear_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/activations.hpp>
#include <support/products.hpp>
#include <support/special_values.hpp>

#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/pointwise.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

template <class P>
LinearWeight<P> ones(std::int64_t features, std::int64_t columns) {
  return LinearWeight<P>(filled<typename LinearWeight<P>::Storage>({features, columns}, 1));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear is within its bound of float64", "[linear]", ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  std::uint32_t seed = 1;
  for (const LinearCase& c : affordable(linear_cases)) {
    CAPTURE(c.rows, c.columns, c.features, c.scale, to_string(c.activate));
    const auto x = random_tensor<typename Types::result>({c.rows, c.columns}, ++seed, c.scale);
    const auto weight =
        random_tensor<S>({c.features, c.columns}, ++seed, 1 / std::sqrt(static_cast<double>(c.columns)));
    const auto bias = random_tensor<S>({c.features}, ++seed);
    const LinearWeight<TestType> packed(weight, bias.values());
    const auto run = [&] { return linear<TestType>(sent(x), packed, {.activation = c.activate}); };
    CHECK(expected_products<Types>(x, weight, bias).outside(run(), c.activate) == "");
    check_repeats(run);
  }
}

TEMPLATE_LIST_TEST_CASE("linear rounds a sum that is exact in f32 exactly once", "[linear]",
                        ExactSumPolicies) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  for (const LinearCase& c : affordable(linear_cases)) {
    if (c.scale != 1 || c.activate != ActivationFunction::none) continue;
    CAPTURE(c.rows, c.columns, c.features);
    // From f32, which every op takes besides its results' dtype.
    const auto x = random_integers<f32>({c.rows, c.columns}, 1);
    const auto weight = random_integers<S>({c.features, c.columns}, 2),
               bias = random_integers<S>({c.features}, 3);
    const LinearWeight<TestType> packed(weight, bias.values());
    CHECK(expected_products<Types>(x, weight, bias).inexact(linear<TestType>(sent(x), packed)) == "");
  }
}

TEMPLATE_TEST_CASE("a weight that lies where ops read it is multiplied there", "[linear]", F32, Bf16, Tf32,
                   Bf16OfF32) {
  using P = TestType;
  using S = typename LinearWeight<P>::Storage;
  const auto wide_rows = random_tensor<S>({70, 100}, 1), bias = random_tensor<S>({70}, 2);
  const auto there = sent(wide_rows), bias_there = sent(bias);
  for (const std::int64_t columns : {100, 96, 45}) {  // of all columns, and of the first ones
    HostTensor<S> narrow(Shape{70, columns});
    for (std::int64_t r = 0; r < 70; ++r)
      std::ranges::copy(wide_rows.view().columns_between(0, columns).row(r), narrow.view().row(r).begin());
    const LinearWeight<P> loaded(narrow, bias.values()), loaded_alone(narrow);
    const auto weight = there.view().columns_between(0, columns);
    const auto borrowed = LinearWeight<P>::borrowed(weight, bias_there);
    const LinearWeight<P> of_tensors(narrow, bias), of_views(narrow.view(), bias.view());
    const auto alone = LinearWeight<P>::borrowed(weight);
    for (const std::int64_t rows : {2, 70}) {
      CAPTURE(columns, rows);
      const auto x = sent(random_tensor<typename P::activation>({rows, columns}, 3));
      CHECK(same_bits(linear<P>(x, borrowed), linear<P>(x, loaded)));
      CHECK(same_bits(linear<P>(x, of_tensors), linear<P>(x, loaded)));
      CHECK(same_bits(linear<P>(x, of_views), linear<P>(x, loaded)));
      CHECK(same_bits(linear<P>(x, alone), linear<P>(x, loaded_alone)));
    }
    if (!backend::Memory::on_host) CHECK(alone.bytes() == 0);
  }
  const Tensor<S> flat(Shape{6}), nothing(Shape{0, 4}), too_short(Shape{69}), matrix(Shape{7, 10});
  CHECK_THROWS_WITH(LinearWeight<P>::borrowed(flat.view()), Catch::Contains("two dimensions, not [6]"));
  CHECK_THROWS_WITH(LinearWeight<P>::borrowed(nothing.view()), Catch::Contains("[0, 4] is empty"));
  CHECK_THROWS_WITH(LinearWeight<P>::borrowed(there.view(), too_short.view()),
                    Catch::Contains("a bias of 69 does not fit"));
  CHECK_THROWS_WITH(LinearWeight<P>::borrowed(there.view(), matrix.view()),
                    Catch::Contains("a bias of shape [7, 10] is not [70]"));
  const HostTensor<S> folded(Shape{7, 10});
  CHECK_THROWS_WITH(LinearWeight<P>(wide_rows, folded),
                    Catch::Contains("a bias of shape [7, 10] is not [70]"));
}

TEST_CASE("an activation fused into a product has the bits of the op that stands alone", "[linear]") {
  // A library's epilogue computes its own.
  if constexpr (emulated || backend::Memory::on_host) {
    using P = Policy<Storage<f32>>;
    const auto weight = random_tensor<f32>({100, 45}, 1, 0.5);
    const LinearWeight<P> packed(weight);
    for (const std::int64_t rows : {2, 70})  // a skinny product, and one of tiles
      for (const ActivationFunction activation : every_activation) {
        CAPTURE(rows, to_string(activation));
        const auto x = random_tensor<f32>({rows, 45}, 2);
        CHECK(same_bits(linear<P>(sent(x), packed, {.activation = activation}),
                        activate<P>(linear<P>(sent(x), packed), activation)));
      }
  }
}

TEMPLATE_LIST_TEST_CASE("the watch hook's f32 products are of the same weight", "[linear]", ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using InF32 = widened_to_f32<Types>;
  using T = typename Types::result;
  using S = typename Types::storage;
  const auto weight = random_tensor<S>({100, 45}, 1, 0.2), bias = random_tensor<S>({100}, 2);
  const LinearWeight<TestType> packed(weight, bias.values());
  for (const std::int64_t rows : {1, 2, 4, 7, 33}) {
    CAPTURE(rows);
    const auto x = random_tensor<T>({rows, 45}, 3);
    const Tensor<T> there = sent(x);
    Tensor<f32> in_f32({rows, 100});
    backend::matmul_transposed<InF32>(as_view(there), packed.weight(),
                                      Epilogue{packed.bias(), ActivationFunction::none}, in_f32.view());
    CHECK(expected_products<InF32>(x, weight, bias).outside(in_f32) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("a narrow Accumulate rounds every addition", "[linear]", NarrowSumPolicies) {
  using Types = precisions<TestType, Matmul>;
  using Sum = typename Types::accumulate;
  constexpr std::size_t columns = 200, features = 30;
  for (const double scale : {1e-4, 1.0, 100.0}) {
    const auto x = random_tensor<f32>({11, columns}, 1, scale);
    const auto weight = random_tensor<typename Types::storage>({features, columns}, 2);
    const auto bias = random_tensor<typename Types::storage>({features}, 3);
    const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
    const auto result = wide(linear<TestType>(sent(x), LinearWeight<TestType>(weight)));
    std::vector<double> sums(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      Sum sum{};
      for (std::size_t k = 0; k < columns; ++k)
        sum = from_double<Sum>(to_double(sum) +
                               wide_x[i / features * columns + k] * wide_weight[i % features * columns + k]);
      sums[i] = to_double(sum);
      const double expected = to_double(from_double<typename Types::result>(sums[i]));
      CAPTURE(i, expected, result[i]);
      REQUIRE((std::isnan(expected) ? std::isnan(result[i]) : result[i] == expected));
    }
    // Bias and activation are f32's.
    std::vector<double> activated_sums(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      activated_sums[i] = activated(ActivationFunction::silu, sums[i] += wide_bias[i % features]);
    CHECK(outside(linear<TestType>(sent(x), LinearWeight<TestType>(weight, bias.values()),
                                   {.activation = ActivationFunction::silu}),
                  activated_sums, [&](std::size_t i) {
                    return activation_error(sums[i], activated_sums[i]) +
                           1.13 * unit<f32> * std::abs(sums[i]);
                  }) == "");
  }
}

TEST_CASE("linear keeps f32's subnormals", "[linear]") {
  for (const std::int64_t rows : {1, 40}) {
    const auto x = sent(filled<f32>({rows, 32}, 1e-20));
    const auto result = linear<F32>(x, LinearWeight<F32>(filled<f32>({80, 32}, 1e-21)));
    for (const double value : wide(result)) REQUIRE(std::abs(value - 3.2e-40) < 3.2e-43);
  }
}

TEMPLATE_LIST_TEST_CASE("inf and NaN stay in linear's rows", "[linear]", SpecialProductPolicies) {
  using T = typename TestType::storage;
  for (const std::int64_t rows : {4, 60}) {
    auto x = random_tensor<T>({rows, 50}, 1);
    auto weight = random_tensor<T>({70, 50}, 2);
    weight.data()[3 * 50 + 7] = T{};
    x.data()[1 * 50 + 7] = from_double<T>(inf);
    x.data()[2 * 50 + 9] = from_double<T>(std::nan(""));
    const auto result = wide(linear<TestType>(sent(x), LinearWeight<TestType>(weight)));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t f = 0; f < 70; ++f) {
        const double value = result[static_cast<std::size_t>(r * 70 + f)];
        const double factor = to_double(weight.data()[f * 50 + 7]);
        if (r == 2 || (r == 1 && factor == 0))
          REQUIRE(std::isnan(value));
        else if (r == 1)
          REQUIRE(value == (factor > 0 ? inf : -inf));
        else
          REQUIRE(std::isfinite(value));
      }
  }
}

TEST_CASE("linear's results above the range become inf, or the largest number where the policy saturates",
          "[linear]") {
  for (const std::int64_t rows : {1, 20}) {
    auto x = filled<f16>({rows, 64}, 2000);
    x.data()[0] = from_double<f16>(-60000);
    const auto plain = wide(linear<F16>(sent(x), ones<F16>(70, 64)));
    const auto saturated = wide(linear<F16Saturate>(sent(x), ones<F16Saturate>(70, 64)));
    REQUIRE(plain[0] == inf);
    REQUIRE(saturated[0] == 65504);
    if (rows > 1) REQUIRE(plain[70] == inf);
    if (rows > 1) REQUIRE(saturated[70] == 65504);
    // An operand is rounded too: 1000 is above fp8_e4m3's 448, and becomes NaN or 448.
    const auto large = sent(filled<f32>({rows, 1}, 1000));
    REQUIRE(std::isnan(wide(linear<E4m3OfBf16InF32>(large, ones<E4m3OfBf16InF32>(3, 1)))[2]));
    REQUIRE(wide(linear<E4m3OfBf16InF32Saturate>(large, ones<E4m3OfBf16InF32Saturate>(3, 1)))[2] == 448);
  }
}

TEMPLATE_LIST_TEST_CASE("linear reads and writes slices of columns and leaves the rest alone", "[linear]",
                        PlainPolicies) {
  using T = typename TestType::storage;
  for (const std::int64_t rows : {3, 40})
    for (const std::int64_t first : {11, 16}) {  // 16: slices whose rows begin on multiples of 16 bytes
      CAPTURE(rows, first);
      const auto x = random_integers<T>({rows, 64}, 1);
      const auto weight = random_integers<T>({90, 33}, 2), bias = random_integers<T>({90}, 3);
      const Tensor<T> there = sent(x);
      Tensor<T> out = sent(filled<T>({2, rows, 128}, -1000));
      linear_into<TestType>(there.view().columns_between(first, 33),
                            LinearWeight<TestType>(weight, bias.values()),
                            out.view().rows_between(rows, rows).columns_between(first + 8, 90));
      const auto got = to_host(out);
      REQUIRE(
          expected_products<precisions<TestType, Matmul>>(x.view().columns_between(first, 33), weight, bias)
              .inexact(got.view().rows_between(rows, rows).columns_between(first + 8, 90)) == "");
      for (std::int64_t r = 0; r < 2 * rows; ++r)
        for (std::int64_t c = 0; c < 128; ++c)
          if (r < rows || c < first + 8 || c >= first + 98)
            REQUIRE(to_double(got.data()[r * 128 + c]) == -1000);
    }
}

TEST_CASE("linear takes any number of dimensions, and no rows", "[linear]") {
  const auto weight = ones<Bf16>(5, 4);
  REQUIRE(linear<Bf16>(Tensor<bf16>(Shape{0, 4}), weight).shape() == Shape{0, 5});
  REQUIRE(linear<Bf16>(Tensor<f32>(Shape{2, 0, 4}), weight).shape() == Shape{2, 0, 5});
  const auto result = linear<Bf16>(sent(random_integers<bf16>({2, 3, 2, 4}, 1)), weight);
  REQUIRE(result.shape() == Shape{2, 3, 2, 5});
  REQUIRE(linear<Bf16>(sent(random_integers<bf16>({4}, 1)), weight).shape() == Shape{5});
}

TEMPLATE_LIST_TEST_CASE("linear_input_gradient multiplies by the weight itself", "[linear]", PlainPolicies) {
  using Types = precisions<TestType, Matmul>;
  using T = typename Types::result;
  for (const std::int64_t rows : {1, 6, 30})
    for (const std::int64_t features : {1, 67}) {
      constexpr std::int64_t columns = 90;
      CAPTURE(rows, features);
      const auto y = random_tensor<T>({2, rows, features}, 1),
                 weight = random_tensor<T>({features, columns}, 2);
      HostTensor<T> turned({columns, features});
      for (std::int64_t f = 0; f < features; ++f)
        for (std::int64_t k = 0; k < columns; ++k)
          turned.data()[k * features + f] = weight.data()[f * columns + k];
      const TransposedWeight<TestType> packed{LinearWeight<TestType>(weight)};
      REQUIRE(packed.in_features() == columns);
      const auto result = linear_input_gradient<TestType>(sent(y), packed);
      REQUIRE(result.shape() == Shape{2, rows, columns});
      CHECK(expected_products<Types>(y, turned, HostTensor<T>()).outside(result) == "");
      // The same bits as a layer of the weight transposed.
      CHECK(same_bits(result, linear<TestType>(sent(y), LinearWeight<TestType>(turned))));
    }
}

TEMPLATE_LIST_TEST_CASE("matmul of two tensors follows its definition", "[matmul]", ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using T = typename Types::result;
  for (const std::int64_t rows : {1, 6, 30})
    for (const std::int64_t columns : {1, 70})
      for (const std::int64_t features : {1, 67}) {
        CAPTURE(rows, columns, features);
        const auto a = random_tensor<T>({rows / 2 + 1, 2, columns}, 1),
                   b = random_tensor<T>({columns, features}, 2);
        HostTensor<T> turned({features, columns});
        for (std::int64_t k = 0; k < columns; ++k)
          for (std::int64_t n = 0; n < features; ++n)
            turned.data()[n * columns + k] = b.data()[k * features + n];
        const auto result = matmul<TestType>(sent(a), sent(b));
        REQUIRE(result.shape() == Shape{rows / 2 + 1, 2, features});
        REQUIRE(expected_products<Types>(a, turned, HostTensor<T>()).outside(result) == "");
        const auto of_turned = matmul_transposed<TestType>(sent(a), sent(turned));
        REQUIRE(expected_products<Types>(a, turned, HostTensor<T>()).outside(of_turned) == "");
        // On the host few rows meet either matrix as it lies, in sums of another order.
        if (!backend::Memory::on_host || result.rows() > 4) REQUIRE(same_bits(result, of_turned));
      }
}
