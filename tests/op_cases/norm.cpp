// Norms on this translation unit's backend against float64: odd sizes, large means, many values, infinities.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/norm_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/norm_reference.hpp>
#include <support/special_values.hpp>

#include <precast/nn/group_statistics.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/ops/norm.hpp>
#include <precast/problem/group_moments.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr double eps = static_cast<f32>(1e-6);

}  // namespace

TEMPLATE_LIST_TEST_CASE("layer_norm follows its definition", "[norm]", NormPolicies) {
  using A = typename TestType::activation;
  using S = typename TestType::storage;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 7, c.deviation, c.mean);
    const auto weight = random_tensor<S>({c.columns}, 8), bias = random_tensor<S>({c.columns}, 9);
    const auto run = [&] { return layer_norm<TestType>(sent(x), sent(weight), sent(bias), {.eps = eps}); };
    const auto affine = expected_layer_norm(wide(x), c.columns, 0, wide(weight), wide(bias), eps);
    CHECK(outside(run(), affine.values, affine.bound()) == "");
    check_repeats(run);
    const auto plain = expected_layer_norm(wide(x), c.columns, 0, {}, {}, eps);
    CHECK(outside(layer_norm<TestType>(sent(x), {.eps = eps}), plain.values, plain.bound()) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("layer_norm_modulate takes a scale and a shift for each sample", "[norm]",
                        NormPolicies) {
  using A = typename TestType::activation;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 1, c.deviation, c.mean);
    const auto modulation =
        random_tensor<A>({c.batch, 2 * c.columns}, 2);  // slices of one row, as models have them
    auto scale = wide(modulation.view().columns_between(c.columns, c.columns));
    for (double& value : scale) value += 1;
    const auto expected = expected_layer_norm(wide(x), c.columns, c.tokens, scale,
                                              wide(modulation.view().columns_between(0, c.columns)), eps);
    const Tensor<A> there = sent(modulation);
    const auto run = [&] {
      return layer_norm_modulate<TestType>(sent(x), there.view().columns_between(c.columns, c.columns),
                                           there.view().columns_between(0, c.columns), {.eps = eps});
    };
    CHECK(outside(run(), expected.values, expected.bound()) == "");
    check_repeats(run);
  }
}

TEMPLATE_LIST_TEST_CASE("layer_norm_modulate takes slices, and one sample without its batch dimension",
                        "[norm]", PlainPolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t first : {3, 8}) {  // where no vector begins, and where one does
    const auto whole = random_tensor<A>({5, 136 + 16}, 1);
    const auto modulation = random_tensor<A>({1, 3 * 136}, 2);
    const Tensor<A> x = sent(whole), row = sent(modulation);
    const auto result = layer_norm_modulate<TestType>(x.view().columns_between(first, 136),
                                                      row.view().columns_between(136, 136),
                                                      row.view().columns_between(first, 136), {.eps = eps});
    REQUIRE(result.shape() == Shape{5, 136});
    auto scale = wide(modulation.view().columns_between(136, 136));
    for (double& value : scale) value += 1;
    const auto expected = expected_layer_norm(wide(whole.view().columns_between(first, 136)), 136, 5, scale,
                                              wide(modulation.view().columns_between(first, 136)), eps);
    CHECK(outside(result, expected.values, expected.bound()) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("rms_norm follows its definition, whole rows and heads", "[norm]", NormPolicies) {
  using A = typename TestType::activation;
  using S = typename TestType::storage;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 3, c.deviation, c.mean / 10);
    const auto weight = random_tensor<S>({c.columns}, 4);
    const auto expected = expected_rms_norm(wide(x), wide(weight), eps);
    const auto run = [&] { return rms_norm<TestType>(sent(x), sent(weight), {.eps = eps}); };
    CHECK(outside(run(), expected.values, expected.bound()) == "");
    check_repeats(run);
    if (c.columns == 0) continue;
    auto heads = rms_norm_heads<TestType>(sent(x).reshaped({c.batch, c.tokens * c.columns}), sent(weight),
                                          {.eps = eps});
    CHECK(same_bits(std::move(heads).reshaped(x.shape()), run()));
  }
}

TEMPLATE_LIST_TEST_CASE("rms_norm reads and writes slices of columns, and neighbours stay", "[norm]",
                        PlainPolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t first : {5, 32}) {
    const auto x = random_tensor<A>({7, 96}, 5);
    const auto weight = random_tensor<typename TestType::storage>({32}, 6);
    const Tensor<A> there = sent(x);
    Tensor<A> target = sent(filled<A>({7, 72}, 9));
    rms_norm_into<TestType>(there.view().columns_between(first, 32), sent(weight), {.eps = eps},
                            target.view().columns_between(first, 32));
    const auto expected = expected_rms_norm(wide(x.view().columns_between(first, 32)), wide(weight), eps);
    const auto got = to_host(target);
    CHECK(outside(got.view().columns_between(first, 32), expected.values, expected.bound()) == "");
    for (const double untouched : wide(got.view().columns_between(0, first))) CHECK(untouched == 9);
    for (const double untouched : wide(got.view().columns_between(first + 32, 40 - first)))
      CHECK(untouched == 9);
  }
}

TEMPLATE_LIST_TEST_CASE("group_norm follows its definition, with and without silu", "[norm]", PlainPolicies) {
  using A = typename TestType::activation;
  using S = typename TestType::storage;
  for (const GroupNormCase& c : affordable(group_norm_cases)) {
    CAPTURE(c.batch, c.height, c.width, c.channels, c.groups, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.height, c.width, c.channels}, 11, c.deviation, c.mean);
    const auto weight = random_tensor<S>({c.channels}, 12), bias = random_tensor<S>({c.channels}, 13);
    const auto expected =
        expected_group_norm(wide(x), c.batch, c.channels, c.groups, wide(weight), wide(bias), eps);
    const auto run = [&](ActivationFunction activate) {
      return group_norm<TestType>(sent(x), sent(weight), sent(bias),
                                  {.groups = c.groups, .eps = eps, .activation = activate});
    };
    CHECK(outside(run(ActivationFunction::none), expected.values, expected.bound()) == "");
    const auto silu = expected.silu();
    CHECK(outside(run(ActivationFunction::silu), silu.values, silu.bound()) == "");
    check_repeats([&] { return run(ActivationFunction::silu); });
  }
}

TEMPLATE_LIST_TEST_CASE("group_norm takes parameters of another width than its values, from any place on",
                        "[norm]", NormParameterPolicies) {
  using A = typename TestType::activation;
  using S = typename TestType::storage;
  for (const std::int64_t in_group : {2, 4, 8, 5})
    for (const auto& [first_weight, first_bias] :
         {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 0}, {0, 1}}) {
      CAPTURE(in_group, first_weight, first_bias);
      const std::int64_t groups = 3, channels = groups * in_group;
      const auto x = random_tensor<A>({2, 3, 5, channels}, 11);
      const auto weight = random_tensor<S>({channels + 1}, 12), bias = random_tensor<S>({channels + 1}, 13);
      const auto weights = weight.view().columns_between(first_weight, channels),
                 biases = bias.view().columns_between(first_bias, channels);
      const auto expected =
          expected_group_norm(wide(x), 2, channels, groups, wide(weights), wide(biases), eps);
      const Tensor<S> there_weight = sent(weight), there_bias = sent(bias);
      const auto result = group_norm<TestType>(
          sent(x), there_weight.view().columns_between(first_weight, channels),
          there_bias.view().columns_between(first_bias, channels), {.groups = groups, .eps = eps});
      CHECK(outside(result, expected.values, expected.bound()) == "");
    }
}

TEMPLATE_LIST_TEST_CASE(
    "group_norm of a picture's parts, with what is gathered from all, is that of the whole", "[norm]",
    PlainPolicies) {
  using A = typename TestType::activation;
  using S = typename TestType::storage;
  for (const GroupNormCase& c : affordable(group_norm_cases)) {
    CAPTURE(c.height, c.width, c.channels, c.groups, c.deviation, c.mean);
    const auto x = random_tensor<A>({1, c.height, c.width, c.channels}, 11, c.deviation, c.mean);
    if (x.elements() == 0) continue;  // it has no moments
    const auto weight = random_tensor<S>({c.channels}, 12), bias = random_tensor<S>({c.channels}, 13);
    const auto expected =
        expected_group_norm(wide(x), 1, c.channels, c.groups, wide(weight), wide(bias), eps);
    const auto on_device = sent(x);
    const std::int64_t middle = (c.height + 1) / 3;
    const auto rows = [&](std::int64_t first, std::int64_t last) {
      return on_device.view()
          .rows_between(first * c.width, (last - first) * c.width)
          .reshaped(Shape{1, last - first, c.width, c.channels});
    };
    nn::GroupStatistics statistics(c.groups);
    // The first may be empty.
    for (const bool second : {false, true}) statistics.add(second ? rows(middle, c.height) : rows(0, middle));
    HostTensor<A> all(x.shape());
    for (const bool second : {false, true}) {
      if (!second && middle == 0) continue;
      const HostTensor<A> part = to_host(
          group_norm_with<TestType>(second ? rows(middle, c.height) : rows(0, middle),
                                    statistics.moments(eps), sent(weight), sent(bias), {.groups = c.groups}));
      std::ranges::copy(part.values(), all.data() + (second ? middle * c.width * c.channels : 0));
    }
    CHECK(outside(all, expected.values, expected.bound()) == "");
  }
}

TEST_CASE("moments of groups lie within longer rows, and from any place on", "[norm]") {
  constexpr std::int64_t groups = 3, rows = 2 * groups;
  const auto x = random_tensor<f32>({2, 3, 5, 4 * groups}, 11);
  const auto weight = random_tensor<f32>({4 * groups}, 12), bias = random_tensor<f32>({4 * groups}, 13);
  const auto on_device = sent(x);
  const GroupNormOptions options{.groups = groups, .eps = eps};
  const auto side_by_side = group_moments(on_device, options);
  const HostTensor<f32> moments = to_host(side_by_side);
  const HostTensor<f32> expected =
      to_host(group_norm_with<F32>(on_device, side_by_side, sent(weight), sent(bias), options));
  for (const std::int64_t row : {5, 8})
    for (const std::int64_t first : {0, 1}) {
      CAPTURE(row, first);
      Tensor<f32> all(Shape{rows, row});
      const auto apart = all.view().columns_between(first, 4);
      group_moments_into(on_device, options, apart);
      const HostTensor<f32> written = to_host(all);
      for (std::int64_t g = 0; g < rows; ++g)
        CHECK(std::ranges::equal(written.view().columns_between(first, 4).row(g), moments.view().row(g)));
      const HostTensor<f32> result =
          to_host(group_norm_with<F32>(on_device, apart, sent(weight), sent(bias), options));
      CHECK(std::ranges::equal(result.values(), expected.values()));
    }
}

TEST_CASE("group_norm_with of no pictures is none, and pictures without values have no moments", "[norm]") {
  const auto ones = filled<f32>({6}, 1), zeros = filled<f32>({6}, 0);
  const GroupNormOptions in_threes{.groups = 3, .eps = eps};
  const auto none = sent(HostTensor<f32>(Shape{0, 4, 5, 6}));
  const auto moments = group_moments(none, in_threes);
  CHECK(moments.shape() == Shape{0, 4});
  CHECK(group_norm_with<F32>(none, moments, sent(ones), sent(zeros), in_threes).shape() == none.shape());
  const auto of_two = group_moments(sent(filled<f32>({2, 4, 5, 6}, 1)), in_threes);
  CHECK_THROWS_AS(group_norm_with<F32>(none, of_two, sent(ones), sent(zeros), in_threes), ShapeError);
  CHECK_THROWS_AS(
      group_norm_with<F32>(sent(filled<f32>({1, 4, 5, 6}, 1)), moments, sent(ones), sent(zeros), in_threes),
      ShapeError);
  CHECK_THROWS_AS(group_norm_with<F32>(sent(filled<f32>({2, 4, 5, 6}, 1)), of_two, sent(ones), sent(zeros),
                                       {.groups = 2}),
                  ShapeError);  // moments of three groups
  for (const std::int64_t images : {std::int64_t{2}, std::int64_t{1} << 62})
    CHECK_THROWS_AS(group_moments(sent(HostTensor<f32>(Shape{images, 0, 5, 6})), in_threes), ShapeError);
}

TEST_CASE("a patch unlike the rest of the picture costs group_norm no accuracy", "[norm]") {
  for (const std::int64_t outliers : {1, 2048}) {
    auto x = random_tensor<f32>({1, 128, 64, 4}, 20, 1e-3, 500);
    for (std::int64_t i = 0; i < outliers; ++i) x.data()[i] = 0;
    const auto ones = filled<f32>({4}, 1), zeros = filled<f32>({4}, 0);
    const auto expected = expected_group_norm(wide(x), 1, 4, 1, wide(ones), wide(zeros), eps);
    CHECK(outside(group_norm<F32>(sent(x), sent(ones), sent(zeros), {.groups = 1, .eps = eps}),
                  expected.values, expected.bound()) == "");
  }
}

TEST_CASE("group_norm of values whose squares are beyond f32 is its bias", "[norm]") {
  const auto ones = filled<f32>({4}, 1), bias = random_tensor<f32>({4}, 3);
  for (const f32 magnitude : {1e20f, 1e26f, 1e30f, 1e33f}) {
    CAPTURE(magnitude);
    auto x = random_tensor<f32>({2, 9, 21, 4}, 21, 0.25, 1);
    for (f32& value : x.values()) value *= magnitude;
    const auto got = to_host(group_norm<F32>(sent(x), sent(ones), sent(bias), {.groups = 2, .eps = eps}));
    for (std::int64_t r = 0; r < got.rows(); ++r) CHECK(std::ranges::equal(got.view().row(r), bias.values()));
    const auto moments = to_host(group_moments(sent(x), {.groups = 2, .eps = eps}));
    for (std::int64_t r = 0; r < moments.rows(); ++r) {
      CHECK(std::abs(moments.view().row(r)[GroupMoments::mean] / magnitude - 1) < 0.1f);
      CHECK(moments.view().row(r)[GroupMoments::inverse_deviation] == 0);
      CHECK(std::isinf(moments.view().row(r)[GroupMoments::variance]));
    }
  }
}

TEST_CASE("moments of a group that is not finite are no numbers", "[norm]") {
  constexpr f32 infinity = std::numeric_limits<f32>::infinity();
  for (const f32 value : {infinity, -infinity, std::numeric_limits<f32>::quiet_NaN()})
    for (const std::int64_t side : {1, 2, 50}) {
      CAPTURE(value, side);
      auto x = random_tensor<f32>({1, side, side, 8}, 3);
      x.data()[x.elements() - 1] = value;
      const auto moments = to_host(group_moments(sent(x), {.groups = 2, .eps = eps}));
      const auto finite = moments.view().row(0), other = moments.view().row(1);
      CHECK(std::ranges::all_of(finite, [](f32 moment) { return std::isfinite(moment); }));
      CHECK(std::isnan(other[GroupMoments::mean] + other[GroupMoments::rest]));
      CHECK(std::isnan(other[GroupMoments::inverse_deviation]));
      CHECK(std::isnan(other[GroupMoments::variance]));
    }
}

TEST_CASE("norms take a weight as a tensor and a bias as a view", "[norm]") {
  const auto x = sent(random_tensor<f32>({1, 2, 2, 8}, 1));
  const Tensor<f32> weight = sent(random_tensor<f32>({8}, 2)), one = sent(random_tensor<f32>({1, 8}, 3));
  Tensor<f32> bias = sent(random_tensor<f32>({8}, 4)), other = sent(random_tensor<f32>({1, 8}, 5));
  const auto rows = x.view().reshaped({4, 8});
  const auto same = [](const Tensor<f32>& a, const Tensor<f32>& b) {
    return same_bits(to_host(a), to_host(b));
  };
  CHECK(same(layer_norm<F32>(rows, weight, bias.view(), {}), layer_norm<F32>(rows, weight, bias, {})));
  CHECK(same(group_norm<F32>(x, weight, bias.view(), {.groups = 2}),
             group_norm<F32>(x, weight, bias, {.groups = 2})));
  const Tensor<f32> moments = group_moments(x, {.groups = 2});
  CHECK(same(group_norm_with<F32>(x, moments, weight.view(), bias, {.groups = 2}),
             group_norm_with<F32>(x, moments, weight, bias, {.groups = 2})));
  CHECK(same(layer_norm_modulate<F32>(rows, one.view(), other.view(), {}),
             layer_norm_modulate<F32>(rows, one, other, {})));
}

TEST_CASE("norms of constants are their shift", "[norm]") {
  const auto x = filled<f32>({2, 5, 5, 6}, 1234.567), ones = filled<f32>({6}, 1),
             shift = filled<f32>({6}, 0.25);
  const std::vector<double> expected(300, 0.25);
  const auto bound = [](std::size_t) { return norm_roundings * unit<f32>; };
  CHECK(outside(layer_norm<F32>(sent(x), sent(ones), sent(shift), {.eps = eps}), expected, bound) == "");
  CHECK(outside(group_norm<F32>(sent(x), sent(ones), sent(shift), {.groups = 3, .eps = eps}), expected,
                bound) == "");
}

TEST_CASE("infinities and NaN stay in their rows of norms", "[norm]") {
  for (const std::int64_t columns : {6, 300, 3000, 9000}) {
    auto x = random_tensor<f32>({6, columns}, 1);
    x.data()[columns + 3] = static_cast<f32>(inf);
    x.data()[2 * columns] = std::numeric_limits<f32>::quiet_NaN();
    x.data()[4 * columns - 1] = static_cast<f32>(-inf);
    for (std::int64_t c = 0; c < columns; ++c) x.data()[4 * columns + c] = static_cast<f32>(-inf);
    for (std::int64_t c = 0; c < columns; ++c) x.data()[5 * columns + c] = 0;
    CAPTURE(columns);
    const auto layer = expected_layer_norm(wide(x), columns, 0, {}, {}, eps);
    CHECK(outside(layer_norm<F32>(sent(x), {.eps = eps}), layer.values, layer.bound()) == "");
    const auto ones = filled<f32>({columns}, 1);
    const auto rms = expected_rms_norm(wide(x), wide(ones), eps);
    CHECK(outside(rms_norm<F32>(sent(x), sent(ones), {.eps = eps}), rms.values, rms.bound()) == "");
  }
  auto x = random_tensor<f32>({2, 5, 5, 6}, 3);
  x.data()[150 + 8] = static_cast<f32>(inf);  // picture 1, group 1
  const auto ones = filled<f32>({6}, 1);
  const auto result = wide(group_norm<F32>(sent(x), sent(ones), sent(ones), {.groups = 3, .eps = eps}));
  for (std::size_t i = 0; i < 300; ++i) CHECK(std::isnan(result[i]) == (i >= 150 && i % 6 / 2 == 1));
}

TEST_CASE("norms' f16 results above the range are inf, or the largest number where the policy saturates",
          "[norm]") {
  const auto x = sent(random_tensor<f16>({4, 8}, 3)), huge = sent(filled<f16>({8}, 60000)),
             zeros = sent(filled<f16>({8}, 0));
  const auto infinite = wide(layer_norm<F16>(x, huge, zeros, {.eps = eps})),
             clamped = wide(layer_norm<F16Saturate>(x, huge, zeros, {.eps = eps}));
  std::int64_t overflows = 0;
  for (std::size_t i = 0; i < infinite.size(); ++i) {
    overflows += std::isinf(infinite[i]);
    CHECK(clamped[i] == std::clamp(infinite[i], -65504.0, 65504.0));
  }
  CHECK(overflows > 0);
}
