// Ops of single values on this translation unit's backend against float64, on whole tensors and on slices.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/pointwise_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/activations.hpp>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/sampler.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// One rounding of f32.
auto one_rounding(const std::vector<double>& expected) {
  return [&expected](std::size_t i) { return unit<f32> * std::abs(expected[i]); };
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("activations and gated products follow their definitions", "[pointwise]",
                        PointwisePolicies) {
  using A = typename TestType::activation;
  for (const PointwiseCase& c : affordable(pointwise_cases)) {
    const auto x = random_tensor<A>(c.shape(), 1, 3), y = random_tensor<A>(c.shape(), 2, 3);
    const Tensor<A> there = sent(x), other_there = sent(y);
    const auto in = wide(x), other = wide(y);
    for (const ActivationFunction activation : every_activation) {
      CAPTURE(c.rows, c.columns, to_string(activation));
      std::vector<double> expected(in.size()), product(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        expected[i] = activated(activation, in[i]);
        product[i] = expected[i] * other[i];
      }
      const auto run = [&] { return activate<TestType>(there, activation); };
      CHECK(outside(run(), expected, [&](std::size_t i) { return activation_error(in[i], expected[i]); }) ==
            "");
      CHECK(outside(gated_product<TestType>(there, other_there, activation), product, [&](std::size_t i) {
              return (activation_error(in[i], expected[i]) + unit<f32> * std::abs(expected[i])) *
                     std::abs(other[i]);
            }) == "");
      check_repeats(run);
    }
  }
}

TEST_CASE("a function that a file names is the one that is known as the program runs", "[pointwise]") {
  using P = Policy<Storage<bf16>>;
  const Tensor<bf16> x = sent(random_tensor<bf16>({3, 17}, 1, 3)),
                     y = sent(random_tensor<bf16>({3, 17}, 2, 3));
  const Context& context = current_context();
  const auto silu = wide(activate<P>(x, ActivationFunction::silu));
  CHECK(wide(activate<P, elementwise::Silu>(x)) == silu);
  CHECK(wide(activate<P, elementwise::Silu>(x, context)) == silu);
  CHECK(wide(activate<P, elementwise::GeluTanh>(x)) == wide(activate<P>(x, ActivationFunction::gelu_tanh)));
  const auto gated = wide(gated_product<P>(x, y, ActivationFunction::silu));
  CHECK(wide(gated_product<P, elementwise::Silu>(x, y)) == gated);
  CHECK(wide(gated_product<P, elementwise::Silu>(x, y, context)) == gated);
  CHECK(gated != silu);
}

TEMPLATE_LIST_TEST_CASE("sums, scales and clamps follow their definitions", "[pointwise]",
                        PointwisePolicies) {
  using A = typename TestType::activation;
  for (const PointwiseCase& c : affordable(pointwise_cases)) {
    CAPTURE(c.rows, c.columns);
    const auto x = random_tensor<A>(c.shape(), 1, 3), y = random_tensor<A>(c.shape(), 2, 0.1);
    const Tensor<A> there = sent(x);
    const auto a = wide(x), b = wide(y);
    std::vector<double> sum(a.size()), scaled(a.size()), clamped(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum[i] = a[i] + b[i];
      scaled[i] = a[i] * 0.75f + 0.1f;
      clamped[i] = std::clamp(a[i], -1.5, 2.0);
    }
    CHECK(outside(add<TestType>(there, sent(y)), sum, one_rounding(sum)) == "");
    // The product is rounded too.
    CHECK(outside(scale_shift<TestType>(there, {.factor = 0.75f, .offset = 0.1f}), scaled,
                  [&](std::size_t i) { return unit<f32> * (std::abs(scaled[i]) + std::abs(a[i] * 0.75)); }) ==
          "");
    CHECK(wide(clamp<TestType>(there, {.low = -1.5f, .high = 2.0f})) == clamped);
  }
}

TEMPLATE_LIST_TEST_CASE("a gate is one for each channel of each sample, and a row is added to every sample",
                        "[pointwise]", PlainPolicies) {
  using A = typename TestType::activation;
  for (const BroadcastCase& c : affordable(broadcast_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns);
    const Shape shape{c.batch, c.tokens, c.columns};
    const auto residual = random_tensor<A>(shape, 1, 4), x = random_tensor<A>(shape, 2);
    const auto modulation = random_tensor<A>({c.batch, 3 * c.columns}, 3);
    const auto positions = random_tensor<A>({c.tokens, c.columns}, 4),
               last = random_tensor<A>({c.columns}, 5);
    const auto base = wide(residual), in = wide(x), place = wide(positions), bias = wide(last);
    const auto by = wide(modulation.view().columns_between(c.columns, c.columns));
    std::vector<double> gated(in.size()), products(in.size()), placed(in.size()), shifted(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / c.columns,
                 column = static_cast<std::int64_t>(i) % c.columns;
      products[i] = by[static_cast<std::size_t>(row / c.tokens * c.columns + column)] * in[i];
      gated[i] = base[i] + products[i];
      placed[i] = in[i] + place[static_cast<std::size_t>(row % c.tokens * c.columns + column)];
      shifted[i] = in[i] + bias[static_cast<std::size_t>(column)];
    }
    const Tensor<A> there = sent(modulation);
    const auto run = [&] {
      return gated_add<TestType>(sent(residual), sent(x), there.view().columns_between(c.columns, c.columns));
    };
    CHECK(outside(run(), gated, [&](std::size_t i) {
            return unit<f32> * (std::abs(gated[i]) + std::abs(products[i]));
          }) == "");
    check_repeats(run);
    CHECK(outside(add<TestType>(sent(x), sent(positions)), placed, one_rounding(placed)) == "");
    CHECK(outside(add<TestType>(sent(x), sent(last)), shifted, one_rounding(shifted)) == "");
    if (c.batch < 2 || c.tokens == 0) continue;
    // The second sample alone.
    const Tensor<A> residuals = sent(residual), values = sent(x);
    Tensor<A> into({c.tokens, c.columns});
    gated_add_into<TestType>(
        residuals.view().rows_between(c.tokens, c.tokens), values.view().rows_between(c.tokens, c.tokens),
        there.view().columns_between(c.columns, c.columns).rows_between(1, 1), into.view());
    const auto whole = to_host(run());
    CHECK(wide(into) == wide(whole.view().rows_between(c.tokens, c.tokens)));
  }
}

TEST_CASE("slices of any dtypes are inputs and outputs of pointwise ops, and neighbours stay",
          "[pointwise]") {
  const auto a = random_tensor<f32>({6, 50}, 1), b = random_tensor<f32>({6, 21}, 2);
  const auto c = random_tensor<f16>({6, 21}, 3);
  const auto slice = a.view().columns_between(10, 21);
  const Tensor<f32> there = sent(a);
  const auto slice_there = there.view().columns_between(10, 21);
  Tensor<bf16> target = sent(filled<bf16>({6, 40}, 7));
  copy_into<Bf16>(slice_there, target.view().columns_between(5, 21));
  const auto copied = to_host(target);
  const auto sums = to_host(add<Bf16>(slice_there, sent(c)));
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::int64_t column = 0; column < 40; ++column) {
      const bool inside = column >= 5 && column < 26;
      const auto at = static_cast<std::size_t>(column - 5);
      const f32 expected = inside ? convert<f32>(convert<bf16>(slice.row(r)[at])) : 7.0f;
      CHECK(convert<f32>(copied.view().row(r)[static_cast<std::size_t>(column)]) == expected);
      if (inside)
        CHECK(convert<f32>(sums.view().row(r)[at]) ==
              convert<f32>(convert<bf16>(slice.row(r)[at] + convert<f32>(c.view().row(r)[at]))));
    }
  CHECK(wide(add<F32>(slice_there, sent(b)))[22] == static_cast<f32>(slice.row(1)[1] + b.view().row(1)[1]));
}

TEST_CASE("pointwise stores overflow to inf or clamp, as the policy has it", "[pointwise]") {
  const HostTensor<f32> values({4}, std::vector<f32>{70000, -70000, 65519, std::nanf("")});
  const Tensor<f32> x = sent(values);
  const auto open = wide(activate<F16>(x, ActivationFunction::none));
  CHECK(open[0] == HUGE_VAL);
  CHECK(open[1] == -HUGE_VAL);
  CHECK(open[2] == 65504);
  CHECK(std::isnan(open[3]));
  const auto closed = wide(activate<F16Saturate>(x, ActivationFunction::none));
  CHECK(closed[0] == 65504);
  CHECK(closed[1] == -65504);
  CHECK(std::isnan(closed[3]));
  CHECK(std::isnan(wide(clamp<F32>(x, {.low = -1, .high = 1}))[3]));
  constexpr f32 no_number = std::numeric_limits<f32>::quiet_NaN();
  CHECK_THROWS_AS(clamp<F32>(x, {.low = no_number}), InputError);
  CHECK_THROWS_AS(clamp<F32>(x, {.high = no_number}), InputError);
}

TEST_CASE("the sampler's step is in f32, its product rounded first", "[pointwise]") {
  const auto start = random_tensor<f32>({70, 64}, 1), velocity = random_tensor<f32>({70, 64}, 2);
  Tensor<f32> state = sent(start);
  const Tensor<f32> velocity_there = sent(velocity);
  const f32 distance = 0.7f - 0.9f;
  euler_step_into(state.view(), velocity_there.view(), distance, state.view());
  const auto stepped = to_host(state);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < stepped.values().size(); ++i) {
    const volatile f32 change = distance * velocity.values()[i];
    wrong += stepped.values()[i] != start.values()[i] + change;
  }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("add_per_sample adds a row to all pixels of its sample", "[pointwise]",
                        PointwisePolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t channels : {1, 7, 600})
    for (const std::int64_t rows : {1, 2}) {
      CAPTURE(channels, rows);
      const auto x = random_tensor<A>({2, 3, 5, channels}, 1), added = random_tensor<A>({rows, channels}, 2);
      const auto in = wide(x), row = wide(added);
      std::vector<double> expected(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        const std::int64_t sample = rows == 1 ? 0 : place / (15 * channels);
        expected[i] = in[i] + row[static_cast<std::size_t>(sample * channels + place % channels)];
      }
      const auto run = [&] { return add_per_sample<TestType>(sent(x), sent(added)); };
      CHECK(outside(run(), expected, [&](std::size_t i) { return unit<f32> * std::abs(expected[i]); }) == "");
      check_repeats(run);
    }
  CHECK(add_per_sample<TestType>(Tensor<A>(Shape{2, 0, 5, 7}), Tensor<A>(Shape{2, 7})).shape() ==
        Shape{2, 0, 5, 7});
}
