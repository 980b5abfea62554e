// Pointwise ops, look-ups and resampling against float64, on whole tensors and on slices.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/ops/embedding.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/resample.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
using Fp8InBf16 = Policy<Storage<fp8_e4m3>, Compute<bf16>>;

double gelu_tanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double exactly(Activate activation, double x) {
  switch (activation) {
    case Activate::none:
      return x;
    case Activate::gelu_tanh:
      return gelu_tanh(x);
    case Activate::gelu_erf:
      return x / 2 * std::erfc(-x * std::sqrt(0.5));
    case Activate::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activate::silu:
      return x / (1 + std::exp(-x));
    case Activate::relu:
      return std::max(x, 0.0);
  }
  return 0;
}
/// The error of an f32 activation function: a few ulp, and the rounding of the inner function's argument
/// times its condition number, which is at most |x|^2 + |x| where the result is not 0.
double activation_error(double x, double result) {
  return unit<f32> * std::abs(result) * (8 + 4 * std::min(x * x + std::abs(x), 200.0)) + 1e-36;
}

constexpr Activate every[] = {Activate::none,       Activate::gelu_tanh, Activate::gelu_erf,
                              Activate::quick_gelu, Activate::silu,      Activate::relu};
/// Sizes below, at and above what one piece of a pointwise loop holds, and none.
const Shape shapes[] = {Shape{0},       Shape{1},        Shape{3, 7},   Shape{2, 2048},
                        Shape{5, 2049}, Shape{1, 70000}, Shape{9000, 3}};

}  // namespace

TEMPLATE_TEST_CASE("activations of whole tensors", "[pointwise]", F32, Bf16, F16, Fp8InBf16) {
  using A = typename TestType::activation;
  for (const Shape& shape : shapes) {
    const auto x = random_tensor<A>(shape, 1, 3), y = random_tensor<A>(shape, 2, 3);
    const auto in = wide(x), other = wide(y);
    for (const Activate activation : every) {
      std::vector<double> expected(in.size()), product(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        expected[i] = exactly(activation, in[i]);
        product[i] = expected[i] * other[i];
      }
      INFO(to_string(activation) << " of " << to_string(shape));
      CHECK(outside(activate<TestType>(x, activation), expected,
                    [&](std::size_t i) { return activation_error(in[i], expected[i]); }) == "");
      CHECK(outside(gated_product<TestType>(x, y, activation), product, [&](std::size_t i) {
              return (activation_error(in[i], expected[i]) + unit<f32> * std::abs(expected[i])) *
                     std::abs(other[i]);
            }) == "");
    }
    CHECK(same_on_any_threads([&] { return activate<TestType>(x, Activate::gelu_tanh); }));
  }
}

TEMPLATE_TEST_CASE("sums, scales and clamps", "[pointwise]", F32, Bf16, F16, Fp8InBf16) {
  using A = typename TestType::activation;
  for (const Shape& shape : shapes) {
    const auto x = random_tensor<A>(shape, 1, 3), y = random_tensor<A>(shape, 2, 0.1);
    const auto a = wide(x), b = wide(y);
    std::vector<double> sum(a.size()), scaled(a.size()), clamped(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum[i] = a[i] + b[i];
      scaled[i] = a[i] * 0.75f + 0.1f;
      clamped[i] = std::clamp(a[i], -1.5, 2.0);
    }
    INFO(to_string(shape));
    CHECK(outside(add<TestType>(x, y), sum, [&](std::size_t i) { return unit<f32> * std::abs(sum[i]); }) ==
          "");
    CHECK(outside(scale_shift<TestType>(x, 0.75f, 0.1f), scaled,
                  [&](std::size_t i) { return unit<f32> * std::abs(scaled[i]); }) == "");
    CHECK(wide(clamp<TestType>(x, -1.5f, 2.0f)) == clamped);
  }
}

TEST_CASE("the second operand of a sum may be the end of the first", "[pointwise]") {
  const auto x = random_tensor<f32>(Shape{3, 4, 2500}, 1), row = random_tensor<f32>(Shape{4, 2500}, 2);
  const auto last = random_tensor<f32>(Shape{2500}, 3);
  const auto with_rows = add<F32>(x, row), with_last = add<F32>(x, last);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    wrong += with_rows.data()[i] != x.data()[i] + row.data()[i % row.elements()];
    wrong += with_last.data()[i] != x.data()[i] + last.data()[i % last.elements()];
  }
  CHECK(wrong == 0);
  CHECK_THROWS_WITH(add<F32>(x, Tensor<f32>(Shape{3, 4})), Catch::Contains("[3, 4, 2500] and [3, 4]"));
  CHECK_THROWS_WITH(add<F32>(row, x), Catch::Contains("[4, 2500] and [3, 4, 2500]"));
  CHECK_THROWS_AS(add<F32>(x, Tensor<f32>(Shape{})), ShapeError);
}

TEMPLATE_TEST_CASE("a gate is one for each channel of each picture", "[pointwise]", F32, Bf16, F16) {
  using P = TestType;
  using A = typename P::activation;
  constexpr std::int64_t batch = 2, tokens = 3, columns = 2100;
  const auto residual = random_tensor<A>(Shape{batch, tokens, columns}, 1, 4),
             x = random_tensor<A>(Shape{batch, tokens, columns}, 2);
  const auto modulation = random_tensor<A>(Shape{batch, 3 * columns}, 3);
  const auto gate = modulation.view().columns_between(columns, columns);
  const auto base = wide(residual), in = wide(x), by = wide(gate);
  std::vector<double> expected(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    expected[i] = base[i] + by[i / (tokens * columns) * columns + i % columns] * in[i];
  const auto result = gated_add<P>(residual, gate, x);
  CHECK(outside(result, expected, [&](std::size_t i) { return unit<f32> * std::abs(expected[i]); }) == "");
  CHECK(same_on_any_threads([&] { return gated_add<P>(residual, gate, x); }));
  Tensor<A> into(Shape{tokens, columns});
  gated_add_into<P>(residual.view().rows_between(tokens, tokens), gate.rows_between(1, 1),
                    x.view().rows_between(tokens, tokens), into.view());
  CHECK(std::memcmp(into.data(), result.data() + tokens * columns, sizeof(A) * tokens * columns) == 0);
  CHECK_THROWS_WITH(gated_add<P>(residual, gate.rows_between(0, 1), x),
                    Catch::Contains("[2, 3, 2100] and [1, 2100]"));
  CHECK_THROWS_AS(gated_add<P>(x.view().rows_between(0, 3), gate, x), ShapeError);
}

TEST_CASE("slices are inputs and outputs", "[pointwise]") {
  const auto wide_input = random_tensor<f32>(Shape{6, 50}, 1);
  const auto slice = wide_input.view().columns_between(10, 21);
  Tensor<bf16> target(Shape{6, 40});
  std::fill(target.values().begin(), target.values().end(), from_double<bf16>(7));
  copy_into<Bf16>(slice, target.view().columns_between(5, 21));
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::int64_t c = 0; c < 40; ++c) {
      const f32 expected = c < 5 || c >= 26
                               ? 7.0f
                               : convert<f32>(convert<bf16>(slice.row(r)[static_cast<std::size_t>(c - 5)]));
      CHECK(convert<f32>(target.view().row(r)[static_cast<std::size_t>(c)]) == expected);
    }
  CHECK(wide(activate<F32>(slice, Activate::relu)).size() == 126);
  CHECK(wide(add<F32>(slice, slice))[22] == 2.0 * slice.row(1)[1]);
  CHECK_THROWS_WITH(copy_into<Bf16>(slice, target.view()), Catch::Contains("[6, 21] and [6, 40]"));
}

TEST_CASE("stores overflow to inf or clamp, as the policy has it", "[pointwise]") {
  const Tensor<f32> x(Shape{4}, std::vector<f32>{70000, -70000, 65519, std::nanf("")});
  const auto open = wide(activate<F16>(x, Activate::none));
  CHECK(open[0] == HUGE_VAL);
  CHECK(open[1] == -HUGE_VAL);
  CHECK(open[2] == 65504);
  CHECK(std::isnan(open[3]));
  const auto closed = wide(activate<Policy<Storage<f16>, Overflow<Saturate>>>(x, Activate::none));
  CHECK(closed[0] == 65504);
  CHECK(closed[1] == -65504);
  CHECK(std::isnan(closed[3]));
  CHECK(std::isnan(wide(clamp<F32>(x, -1, 1))[3]));
}

TEMPLATE_TEST_CASE("embedding takes rows by number", "[pointwise]", F32, Bf16, F16, Fp8InBf16) {
  using P = TestType;
  const auto table = random_tensor<typename P::storage>(Shape{11, 37}, 1);
  const std::vector<std::int32_t> ids{10, 0, 3, 3};
  const auto result = embedding<P>(table, ids);
  REQUIRE(result.shape() == Shape{4, 37});
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t c = 0; c < 37; ++c)
      CHECK(to_double(result.view().row(static_cast<std::int64_t>(i))[c]) ==
            to_double(convert<typename P::activation>(table.view().row(ids[i])[c])));
  CHECK(embedding<P>(table, std::span<const std::int32_t>{}).shape() == Shape{0, 37});
  CHECK_THROWS_WITH(embedding<P>(table, std::vector<std::int32_t>{1, 11}),
                    Catch::Contains("id 11 at place 1") && Catch::Contains("11 rows"));
  CHECK_THROWS_AS(embedding<P>(table, std::vector<std::int32_t>{-1}), InputError);
}

TEMPLATE_TEST_CASE("upsample_nearest repeats pixels", "[pointwise]", F32, Bf16) {
  using A = typename TestType::activation;
  const auto x = random_tensor<A>(Shape{2, 3, 5, 7}, 1);
  for (const std::int64_t factor : {1, 2, 3}) {
    const auto result = upsample_nearest<TestType>(x, factor);
    REQUIRE(result.shape() == Shape{2, 3 * factor, 5 * factor, 7});
    std::int64_t wrong = 0;
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t h = 0; h < 3 * factor; ++h)
        for (std::int64_t w = 0; w < 5 * factor; ++w)
          for (std::int64_t c = 0; c < 7; ++c)
            wrong += !(result.data()[((b * 3 * factor + h) * 5 * factor + w) * 7 + c] ==
                       x.data()[((b * 3 + h / factor) * 5 + w / factor) * 7 + c]);
    CHECK(wrong == 0);
  }
  CHECK_THROWS_AS(upsample_nearest<TestType>(x, 0), ShapeError);
  CHECK_THROWS_AS(upsample_nearest<TestType>(Tensor<A>(Shape{2, 3}), 2), ShapeError);
}
