// Norms against float64, in every precision: odd sizes, large means, many values, no values.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>

#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
using F16Upcast = Policy<Storage<f16>, Upcast<Norm>>;
using Bf16InF32 = Policy<Storage<bf16>, Activation<f32>>;

}  // namespace

TEMPLATE_TEST_CASE("layer_norm follows its definition", "[norm]", F32, Bf16, F16, F16Upcast, Bf16InF32) {
  using P = TestType;
  using A = typename P::activation;
  using S = typename P::storage;
  for (const std::int64_t columns : {1, 2, 7, 31, 32, 33, 64, 768, 3072, 5001}) {
    for (const auto& [scale, mean] : {std::pair{1.0, 0.0}, {1e-3, 0.0}, {30.0, -500.0}, {1.0, 1000.0}}) {
      const auto x = random_tensor<A>(Shape{2, 3, columns}, 7, scale, mean);
      const auto weight = random_tensor<S>(Shape{columns}, 8), bias = random_tensor<S>(Shape{columns}, 9);
      const auto all = wide(x), w = wide(weight), b = wide(bias);
      ExpectedNorm with, without;
      for (std::int64_t r = 0; r < 6; ++r) {
        const auto row = row_of(all, r, columns);
        const NormReference reference(row);
        for (std::size_t c = 0; c < row.size(); ++c) {
          const double normalised =
              (row[c] - reference.mean) / std::sqrt(reference.variance + static_cast<f32>(1e-6));
          with.add(normalised, w[c], b[c]);
          without.add(normalised, 1, 0);
        }
      }
      INFO(columns << " columns, mean " << mean << ", deviation " << scale);
      CHECK(outside(layer_norm<P>(x, weight, bias, 1e-6), with.values, with.bound()) == "");
      CHECK(outside(layer_norm<P>(x, 1e-6), without.values, without.bound()) == "");
    }
  }
}

TEMPLATE_TEST_CASE("layer_norm_modulate takes a scale and a shift for each picture", "[norm]", F32, Bf16,
                   F16) {
  using P = TestType;
  using A = typename P::activation;
  constexpr std::int64_t batch = 3, tokens = 5, columns = 77;
  const auto x = random_tensor<A>(Shape{batch, tokens, columns}, 1, 2, 0.5);
  const auto modulation =
      random_tensor<A>(Shape{batch, 2 * columns}, 2);  // slices of one row, as models have them
  const auto scale = modulation.view().columns_between(columns, columns),
             shift = modulation.view().columns_between(0, columns);
  const auto all = wide(x), factor = wide(scale), offset = wide(shift);
  ExpectedNorm expected;
  for (std::int64_t r = 0; r < batch * tokens; ++r) {
    const auto row = row_of(all, r, columns);
    const NormReference reference(row);
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::size_t at = static_cast<std::size_t>(r / tokens * columns + c);
      expected.add((row[static_cast<std::size_t>(c)] - reference.mean) / std::sqrt(reference.variance + 1e-6),
                   1 + factor[at], offset[at]);
    }
  }
  const auto result = layer_norm_modulate<P>(x, scale, shift, 1e-6);
  CHECK(outside(result, expected.values, expected.bound()) == "");
  // One picture may come without its batch dimension.
  const auto one = layer_norm_modulate<P>(x.view().rows_between(0, tokens), scale.rows_between(0, 1),
                                          shift.rows_between(0, 1), 1e-6);
  CHECK(std::memcmp(one.data(), result.data(), sizeof(A) * tokens * columns) == 0);
  CHECK(same_on_any_threads([&] { return layer_norm_modulate<P>(x, scale, shift, 1e-6); }));
}

TEMPLATE_TEST_CASE("rms_norm follows its definition, whole rows and heads", "[norm]", F32, Bf16, F16) {
  using P = TestType;
  using A = typename P::activation;
  using S = typename P::storage;
  for (const std::int64_t width : {1, 5, 64, 128, 4096}) {
    for (const double scale : {1.0, 1e-3, 200.0}) {
      constexpr std::int64_t heads = 3;
      const auto x = random_tensor<A>(Shape{2, 2, heads * width}, 3, scale);
      const auto weight = random_tensor<S>(Shape{width}, 4);
      const auto all = wide(x), w = wide(weight);
      ExpectedNorm expected;
      for (std::int64_t r = 0; r < 4 * heads; ++r) {
        const auto row = row_of(all, r, width);
        const NormReference reference(row);
        for (std::size_t c = 0; c < row.size(); ++c)
          expected.add(row[c] / std::sqrt(reference.mean_square + static_cast<f32>(1e-6)), w[c], 0);
      }
      INFO(width << " wide, scale " << scale);
      CHECK(outside(rms_norm_heads<P>(x, weight, 1e-6), expected.values, expected.bound()) == "");
      const auto whole = rms_norm<P>(x.view().reshaped(Shape{2, 2, heads, width}), weight, 1e-6);
      CHECK(outside(whole, expected.values, expected.bound()) == "");
    }
  }
  const auto x = random_tensor<A>(Shape{7, 96}, 5);
  const auto weight = random_tensor<S>(Shape{32}, 6);
  Tensor<A> target(Shape{7, 64});
  std::fill(target.values().begin(), target.values().end(), from_double<A>(9));
  rms_norm_into<P>(x.view().columns_between(32, 32), weight, 1e-6, target.view().columns_between(0, 32));
  Tensor<A> middle(Shape{7, 32});
  copy_into<P>(x.view().columns_between(32, 32), middle.view());
  CHECK(wide(target.view().columns_between(0, 32)) == wide(rms_norm<P>(middle, weight, 1e-6)));
  for (const double untouched : wide(target.view().columns_between(32, 32))) CHECK(untouched == 9);
}

TEMPLATE_TEST_CASE("group_norm follows its definition, with and without silu", "[norm]", F32, Bf16, F16) {
  using P = TestType;
  using A = typename P::activation;
  using S = typename P::storage;
  struct Case {
    std::int64_t batch, height, width, channels, groups;
    double scale, mean;
  };
  // The third has 163,840 values in each group, which f16 sums cannot hold; the fourth a mean of 1000.
  for (const Case& c :
       {Case{2, 3, 5, 6, 3, 1, 0}, Case{1, 1, 1, 4, 2, 2, 1}, Case{1, 256, 320, 4, 2, 1, 3},
        Case{1, 64, 80, 64, 2, 1, 1000}, Case{2, 9, 7, 33, 1, 0.01, -4}, Case{1, 130, 1, 1, 1, 5, 0}}) {
    const auto x = random_tensor<A>(Shape{c.batch, c.height, c.width, c.channels}, 11, c.scale, c.mean);
    const auto weight = random_tensor<S>(Shape{c.channels}, 12),
               bias = random_tensor<S>(Shape{c.channels}, 13);
    const auto all = wide(x), w = wide(weight), b = wide(bias);
    ExpectedNorm expected = expected_group_norm(all, c.batch, c.channels, c.groups, w, b, 1e-6);
    INFO(to_string(x.shape()) << " in " << c.groups << " groups");
    CHECK(outside(group_norm<P>(x, c.groups, weight, bias, 1e-6), expected.values, expected.bound()) == "");
    // silu's slope is at most 1.1; it is within 3 ulp itself.
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      expected.bounds[i] = 1.1 * expected.bounds[i] + 8 * unit<f32> * std::abs(expected.values[i]);
      expected.values[i] /= 1 + std::exp(-expected.values[i]);
    }
    const auto activated = group_norm<P>(x, c.groups, weight, bias, 1e-6, Activate::silu);
    CHECK(outside(activated, expected.values, expected.bound()) == "");
    CHECK(
        same_on_any_threads([&] { return group_norm<P>(x, c.groups, weight, bias, 1e-6, Activate::silu); }));
  }
}

TEST_CASE("a first patch unlike the rest of the picture costs group_norm no accuracy", "[norm]") {
  Tensor<f32> x = random_tensor<f32>(Shape{1, 128, 128, 4}, 20, 1e-3, 500);
  for (std::int64_t i = 0; i < 4 * 512; ++i) x.data()[i] = 0;
  Tensor<f32> ones(Shape{4}, std::vector<f32>(4, 1.0f)), zeros(Shape{4}, std::vector<f32>(4, 0.0f));
  const auto all = wide(x);
  const NormReference reference(all);
  ExpectedNorm expected;
  for (const double value : all)
    expected.add((value - reference.mean) / std::sqrt(reference.variance + 1e-6), 1, 0);
  CHECK(outside(group_norm<F32>(x, 1, ones, zeros, 1e-6), expected.values, expected.bound()) == "");
}

TEST_CASE("norms of constants are their shift, of infinities NaN, of nothing nothing", "[norm]") {
  const Tensor<f32> ones(Shape{6}, std::vector<f32>(6, 1.0f)), shift(Shape{6}, std::vector<f32>(6, 0.25f));
  const Tensor<f32> constant(Shape{2, 6}, std::vector<f32>(12, 1234.567f));
  ExpectedNorm only_shift;
  for (int i = 0; i < 12; ++i) only_shift.add(0, 1, 0.25);
  CHECK(outside(layer_norm<F32>(constant, ones, shift, 1e-5), only_shift.values, only_shift.bound()) == "");
  Tensor<f32> broken = random_tensor<f32>(Shape{3, 6}, 1);
  broken.data()[7] = std::numeric_limits<f32>::infinity();
  const auto result = wide(layer_norm<F32>(broken, ones, shift, 1e-5));
  for (std::size_t i = 0; i < result.size(); ++i) CHECK(std::isnan(result[i]) == (i / 6 == 1));
  CHECK(layer_norm<F32>(Tensor<f32>(Shape{0, 6}), ones, shift, 1e-5).elements() == 0);
  CHECK(layer_norm<F32>(Tensor<f32>(Shape{4, 0}), 1e-5).elements() == 0);
  CHECK(group_norm<F32>(Tensor<f32>(Shape{0, 2, 2, 6}), 3, ones, shift, 1e-5).elements() == 0);
  CHECK(group_norm<F32>(Tensor<f32>(Shape{1, 0, 2, 6}), 3, ones, shift, 1e-5).elements() == 0);
}

TEST_CASE("f16 results above the range are inf, or the largest number where the policy saturates", "[norm]") {
  using Clamping = Policy<Storage<f16>, Overflow<Saturate>>;
  const auto x = random_tensor<f16>(Shape{4, 8}, 3);
  const Tensor<f16> huge(Shape{8}, std::vector<f16>(8, from_double<f16>(60000))),
      zeros(Shape{8}, std::vector<f16>(8));
  const auto infinite = wide(layer_norm<F16>(x, huge, zeros, 1e-5)),
             clamped = wide(layer_norm<Clamping>(x, huge, zeros, 1e-5));
  int overflows = 0;
  for (std::size_t i = 0; i < infinite.size(); ++i) {
    CHECK(std::isfinite(clamped[i]));
    overflows += std::isinf(infinite[i]);
    if (std::isinf(infinite[i])) CHECK(clamped[i] == (infinite[i] > 0 ? 65504 : -65504));
  }
  CHECK(overflows > 0);
}

TEST_CASE("norms name the shapes that do not fit", "[norm]") {
  const Tensor<f32> x(Shape{2, 3, 4}), four(Shape{4}), three(Shape{3}), modulation(Shape{3, 4});
  CHECK_THROWS_WITH(layer_norm<F32>(x, three, four, 1e-5), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(rms_norm<F32>(x, three, 1e-5), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(rms_norm_heads<F32>(x, three, 1e-5), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(layer_norm_modulate<F32>(x, modulation, modulation, 1e-5),
                    Catch::Contains("[2, 3, 4] and [3, 4]"));
  CHECK_THROWS_WITH(group_norm<F32>(x, 2, four, four, 1e-5), Catch::Contains("[2, 3, 4]"));
  const Tensor<f32> image(Shape{1, 2, 2, 4});
  CHECK_THROWS_WITH(group_norm<F32>(image, 3, four, four, 1e-5), Catch::Contains("3 groups"));
  CHECK_THROWS_AS(group_norm<F32>(image, 0, four, four, 1e-5), ShapeError);
}
