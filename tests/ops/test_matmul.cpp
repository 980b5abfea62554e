// linear and matmul against float64: every kind of policy, odd shapes, views, overflow, threads, and what is
// reported.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/products.hpp>

#include <precast/ops/linear.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr f32 inf = std::numeric_limits<f32>::infinity();

template <class Types, class X, class S>
ExpectedSums<Types> expected_sums(const X& x, const Tensor<S>& weight, const Tensor<S>& bias) {
  const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
  const std::int64_t columns = weight.columns();
  ExpectedSums<Types> sums;
  for (std::int64_t r = 0; r < as_view(x).rows(); ++r)
    for (std::int64_t f = 0; f < weight.rows(); ++f)
      sums.add(wide_x.data() + r * columns, wide_weight.data() + f * columns, columns,
               wide_bias.empty() ? 0 : wide_bias[static_cast<std::size_t>(f)]);
  return sums;
}

template <class P>
LinearWeight<P> ones(std::int64_t out, std::int64_t in) {
  return LinearWeight<P>(out, in, [](std::int64_t, auto rows) {
    for (auto& value : rows.values()) value = from_double<typename LinearWeight<P>::Storage>(1);
  });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear is within its bound of float64", "[linear]", ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using S = typename Types::storage;
  std::uint32_t seed = 1;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 17, 129})
    for (const std::int64_t columns : {1, 17, 64, 1031})
      for (const std::int64_t features : {1, 3, 65, 130}) {
        for (const double scale : {1e-3, 1.0, 30.0}) {
          if (scale != 1 && (columns == 64 || features == 3)) continue;
          CAPTURE(rows, columns, features, scale);
          const auto x = random_tensor<typename Types::result>({rows, columns}, ++seed, scale);
          const auto weight = random_tensor<S>({features, columns}, ++seed, 1 / std::sqrt(columns));
          const auto bias = random_tensor<S>({features}, ++seed);
          REQUIRE(expected_sums<Types>(x, weight, bias)
                      .outside(linear<P>(x, LinearWeight<P>(weight, bias.values()))) == "");
        }
      }
}

TEMPLATE_LIST_TEST_CASE("linear rounds a sum that is exact in f32 exactly once", "[linear]",
                        ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using S = typename Types::storage;
  if (!std::is_same_v<typename Types::accumulate, f32>) return;
  for (const std::int64_t rows : {1, 7, 40})
    for (const std::int64_t columns : {5, 333, 2100})
      for (const std::int64_t features : {2, 64, 200}) {
        CAPTURE(rows, columns, features);
        const auto x = random_integers<typename Types::result>({rows, columns}, 1);
        const auto weight = random_integers<S>({features, columns}, 2),
                   bias = random_integers<S>({features}, 3);
        const auto expected = expected_sums<Types>(x, weight, bias);
        const LinearWeight<P> packed(weight, bias.values());
        REQUIRE(expected.inexact(linear<P>(x, packed)) == "");
        // The same from f32, which every op takes.
        REQUIRE(expected.inexact(linear<P>(random_integers<f32>({rows, columns}, 1), packed)) == "");
      }
}

TEMPLATE_LIST_TEST_CASE("linear is right for any number of rows, whichever kernel takes them", "[linear]",
                        ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using InF32 = widened_to_f32<Types>;
  using S = typename Types::storage;
  const std::int64_t columns = 45;
  for (const std::int64_t features : {7, 100}) {
    const auto weight = random_tensor<S>({features, columns}, 1, 0.2), bias = random_tensor<S>({features}, 2);
    const LinearWeight<P> packed(weight, bias.values());
    for (std::int64_t rows = 1; rows <= 40; ++rows) {
      CAPTURE(rows, features);
      const auto x = random_tensor<typename Types::result>({rows, columns}, 3);
      REQUIRE(expected_sums<Types>(x, weight, bias).outside(linear<P>(x, packed)) == "");
      // As the watch hook computes it once more, from the same weight.
      Tensor<f32> in_f32({rows, features});
      host::matmul_transposed<InF32>(View<const typename Types::result>(x), packed.weight(),
                                     Epilogue{packed.bias(), Activate::none}, in_f32.view());
      REQUIRE(expected_sums<InF32>(x, weight, bias).outside(in_f32) == "");
    }
  }
}

TEMPLATE_TEST_CASE("a narrow Accumulate rounds every addition", "[linear]",
                   (Policy<Storage<f16>, Accumulate<f16>>),
                   (Policy<Storage<bf16>, Accumulate<bf16>, Activation<f32>>),
                   (Policy<Storage<f32>, Compute<f16>, Accumulate<tf32>, Activation<f32>>),
                   (Policy<Storage<fp8_e5m2>, Accumulate<fp8_e5m2>, Activation<f32>>)) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using Sum = typename Types::accumulate;
  for (const double scale : {1e-4, 1.0, 100.0}) {
    const auto x = random_tensor<f32>({11, 300}, 1, scale);
    const auto weight = random_tensor<typename Types::storage>({70, 300}, 2);
    const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight);
    const auto result = wide(linear<P>(x, LinearWeight<P>(weight)));
    for (std::size_t i = 0; i < result.size(); ++i) {
      Sum sum{};
      for (std::size_t k = 0; k < 300; ++k)
        sum = from_double<Sum>(to_double(sum) + wide_x[i / 70 * 300 + k] * wide_weight[i % 70 * 300 + k]);
      const double expected = to_double(from_double<typename Types::result>(to_double(sum)));
      if (std::isnan(expected))
        REQUIRE(std::isnan(result[i]));
      else
        REQUIRE(result[i] == expected);
    }
  }
}

TEMPLATE_TEST_CASE("linear applies activations before its one rounding", "[linear]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using T = typename Types::storage;
  for (const std::int64_t rows : {2, 70})
    for (const Activate activate : {Activate::none, Activate::gelu_tanh, Activate::gelu_erf,
                                    Activate::quick_gelu, Activate::silu, Activate::relu}) {
      CAPTURE(rows, to_string(activate));
      const auto x = random_tensor<T>({rows, 100}, 5), weight = random_tensor<T>({150, 100}, 6, 0.3);
      const auto bias = random_tensor<T>({150}, 7);
      const auto result = linear<P>(x, LinearWeight<P>(weight, bias.values()), activate);
      REQUIRE(expected_sums<Types>(x, weight, bias).outside(result, activate) == "");
    }
}

TEST_CASE("linear keeps f32's subnormals", "[linear]") {
  using P = Policy<Storage<f32>>;
  for (const std::int64_t rows : {1, 40}) {
    Tensor<f32> x({rows, 32}), weight({80, 32});
    for (f32& value : x.values()) value = 1e-20f;
    for (f32& value : weight.values()) value = 1e-21f;
    const auto result = linear<P>(x, LinearWeight<P>(weight));
    for (const f32 value : result.values()) REQUIRE(std::abs(value - 3.2e-40) < 3.2e-43);
  }
}

TEMPLATE_TEST_CASE("inf and NaN stay in their rows", "[linear]", Policy<Storage<f32>>, Policy<Storage<bf16>>,
                   Policy<Storage<f16>>, (Policy<Storage<f16>, Accumulate<f16>>)) {
  using P = TestType;
  using T = typename P::storage;
  for (const std::int64_t rows : {4, 60}) {
    auto x = random_tensor<T>({rows, 50}, 1);
    auto weight = random_tensor<T>({70, 50}, 2);
    weight.data()[3 * 50 + 7] = T{};
    x.data()[1 * 50 + 7] = from_double<T>(inf);
    x.data()[2 * 50 + 9] = from_double<T>(std::nan(""));
    const auto result = wide(linear<P>(x, LinearWeight<P>(weight)));
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

TEST_CASE("a result above the range becomes inf, or the largest number where the policy saturates",
          "[linear]") {
  for (const std::int64_t rows : {1, 20}) {
    auto x = random_integers<f16>({rows, 64}, 1);
    for (f16& value : x.values()) value = from_double<f16>(2000);
    x.data()[0] = from_double<f16>(-60000);
    using Plain = Policy<Storage<f16>>;
    using Saturating = Policy<Storage<f16>, Overflow<Saturate>>;
    const auto plain = wide(linear<Plain>(x, ones<Plain>(70, 64)));
    const auto saturated = wide(linear<Saturating>(x, ones<Saturating>(70, 64)));
    REQUIRE(plain[0] == inf);
    REQUIRE(saturated[0] == 65504);
    if (rows > 1) REQUIRE(plain[70] == inf);
    if (rows > 1) REQUIRE(saturated[70] == 65504);
    // An operand is rounded too: 1000 is above fp8_e4m3's 448, and becomes NaN or 448.
    using Fp8 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>>;
    using SaturatingFp8 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>, Overflow<Saturate>>;
    Tensor<f32> large({rows, 1});
    for (f32& value : large.values()) value = 1000;
    REQUIRE(std::isnan(wide(linear<Fp8>(large, ones<Fp8>(3, 1)))[2]));
    REQUIRE(wide(linear<SaturatingFp8>(large, ones<SaturatingFp8>(3, 1)))[2] == 448);
  }
}

TEMPLATE_TEST_CASE("linear reads and writes slices of columns and leaves the rest alone", "[linear]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using P = TestType;
  using T = typename P::storage;
  for (const std::int64_t rows : {3, 40}) {
    const auto wide_x = random_integers<T>({rows, 60}, 1);
    const auto x = wide_x.view().columns_between(11, 33);
    const auto weight = random_integers<T>({90, 33}, 2), bias = random_integers<T>({90}, 3);
    Tensor<T> out({2, rows, 128});
    for (T& value : out.values()) value = from_double<T>(-1000);
    const auto target = out.view().rows_between(rows, rows).columns_between(20, 90);
    linear_into<P>(x, LinearWeight<P>(weight, bias.values()), target);
    REQUIRE(expected_sums<precisions<P, Matmul>>(x, weight, bias).inexact(target) == "");
    for (std::int64_t r = 0; r < 2 * rows; ++r)
      for (std::int64_t c = 0; c < 128; ++c)
        if (r < rows || c < 20 || c >= 110) REQUIRE(to_double(out.data()[r * 128 + c]) == -1000);
  }
}

TEMPLATE_LIST_TEST_CASE("linear has the same bits on any number of threads", "[linear]", ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  const auto weight = LinearWeight<P>(random_tensor<typename Types::storage>({515, 130}, 1));
  for (const std::int64_t rows : {2, 60, 768}) {
    const auto x = random_tensor<typename Types::result>({rows, 130}, 2);
    REQUIRE(same_on_any_threads([&] { return linear<P>(x, weight, Activate::gelu_tanh); }));
  }
}

TEST_CASE("linear takes any number of dimensions, and no rows", "[linear]") {
  using P = Policy<Storage<bf16>>;
  const auto weight = ones<P>(5, 4);
  REQUIRE(linear<P>(Tensor<bf16>(Shape{0, 4}), weight).shape() == Shape{0, 5});
  REQUIRE(linear<P>(Tensor<f32>(Shape{2, 0, 4}), weight).shape() == Shape{2, 0, 5});
  const auto result = linear<P>(random_integers<bf16>({2, 3, 2, 4}, 1), weight);
  REQUIRE(result.shape() == Shape{2, 3, 2, 5});
  REQUIRE(linear<P>(random_integers<bf16>({4}, 1), weight).shape() == Shape{5});
}

TEST_CASE("a linear weight is filled in order, once", "[linear]") {
  using P = Policy<Storage<f16>>;
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
  REQUIRE(weight.bias().empty());
  for (std::int64_t r = 0; r < 150; ++r)
    REQUIRE(to_double(weight.weight().at(r, 6)) == static_cast<double>(r));
}

TEST_CASE("linear refuses shapes that do not fit", "[linear]") {
  using P = Policy<Storage<f32>>;
  const auto weight = ones<P>(5, 4);
  Tensor<f32> out({3, 5});
  REQUIRE_THROWS_AS(linear<P>(Tensor<f32>(Shape{3, 5}), weight), ShapeError);
  REQUIRE_THROWS_AS(linear_into<P>(Tensor<f32>(Shape{2, 4}), weight, out), ShapeError);
  REQUIRE_THROWS_AS(linear_into<P>(Tensor<f32>(Shape{3, 4}), ones<P>(6, 4), out), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(0, 4), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(4, 0), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(-1, 4), ShapeError);
  REQUIRE_THROWS_AS(LinearWeight<P>(Tensor<f32>(Shape{5, 4}), std::vector<f32>(4)), ShapeError);
}

TEMPLATE_LIST_TEST_CASE("matmul of two tensors follows its definition", "[matmul]", ProductPolicies) {
  using P = TestType;
  using Types = precisions<P, Matmul>;
  using T = typename Types::result;
  for (const std::int64_t rows : {1, 6, 30})
    for (const std::int64_t columns : {1, 70})
      for (const std::int64_t features : {1, 67}) {
        CAPTURE(rows, columns, features);
        const auto a = random_tensor<T>({rows / 2 + 1, 2, columns}, 1),
                   b = random_tensor<T>({columns, features}, 2);
        Tensor<T> turned({features, columns});
        for (std::int64_t k = 0; k < columns; ++k)
          for (std::int64_t n = 0; n < features; ++n)
            turned.data()[n * columns + k] = b.data()[k * features + n];
        const auto expected = expected_sums<Types>(a, turned, Tensor<T>());
        const auto result = matmul<P>(a, b);
        REQUIRE(result.shape() == Shape{rows / 2 + 1, 2, features});
        REQUIRE(expected.outside(result) == "");
        REQUIRE(same_bits(result, matmul_transposed<P>(a, turned)));
      }
  REQUIRE_THROWS_AS(matmul<P>(Tensor<T>(Shape{2, 3}), Tensor<T>(Shape{4, 3})), ShapeError);
  REQUIRE_THROWS_AS(matmul_transposed<P>(Tensor<T>(Shape{2, 3}), Tensor<T>(Shape{3, 4})), ShapeError);
}

TEST_CASE("the watch hook learns what linear ran in, and what f32 would have made of it", "[linear][watch]") {
  struct : watch::Observer {
    std::vector<watch::OpRecord> records;
    std::vector<watch::NonFinite> found;
    void on_op(const watch::OpRecord& record) override { records.push_back(record); }
    bool wants_non_finite() const override { return found.empty(); }
    void on_non_finite(const watch::NonFinite& value) override { found.push_back(value); }
  } observer;
  using P = Policy<Storage<f16>, Compute<bf16>, Activation<f16>>;
  Tensor<f16> x({12, 64});
  for (f16& value : x.values()) value = from_double<f16>(1);
  x.data()[5 * 64] = from_double<f16>(-65504);
  x.data()[5 * 64 + 1] = from_double<f16>(-200);
  const auto weight = ones<P>(3, 64);
  linear<P>(x, weight);
  const watch::Watching watching(observer);
  linear<P>(x, weight);
  REQUIRE(observer.records.size() == 1);
  const watch::OpRecord& record = observer.records[0];
  REQUIRE(record.op == "Matmul");
  REQUIRE(record.storage == "f16");
  REQUIRE(record.operand == "bf16");
  REQUIRE(record.accumulate == "f32");
  REQUIRE(record.result == "f16");
  REQUIRE(record.shape == Shape{12, 3});
  REQUIRE(record.max_abs == 64);
  REQUIRE(record.infinities == 3);
  REQUIRE(observer.found.size() == 1);
  REQUIRE(observer.found[0].index == 15);
  REQUIRE(observer.found[0].value_in_f32 == -65504.0 - 200 + 62);
}
