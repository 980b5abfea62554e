// Ops of samplers: every value is what f32 makes of the formula, operation by operation, on the host and on a
// device.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>

#include <precast/error.hpp>
#include <precast/ops/sampler.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using elementwise::Combination;

/// A product as it is rounded, whatever the compiler may fuse.
f32 product(f32 a, f32 b) {
  const volatile f32 rounded = a * b;
  return rounded;
}

/// A combination by its definition, of the i-th of each tensor.
f32 combined(const Combination& how, const std::vector<HostTensor<f32>>& x, std::size_t i) {
  f32 sum = product(how.coefficients[0], x[0].values()[i]) / how.first_divisor;
  for (std::size_t k = 1; k < x.size(); ++k) sum += product(how.coefficients[k], x[k].values()[i]);
  sum = product(sum, how.factor) / how.divisor;
  return sum < how.low ? how.low : sum > how.high ? how.high : sum;
}

/// How many values are not those that `value(i)` gives.
template <class Value>
int wrong(const Tensor<f32>& result, Value&& value) {
  const auto there = to_host(result);
  int count = 0;
  for (std::size_t i = 0; i < there.values().size(); ++i) count += there.values()[i] != value(i);
  return count;
}

}  // namespace

TEST_CASE("combinations of one to four tensors are rounded step by step", "[sampler]") {
  for (const Shape& shape : {Shape{1, 3, 5, 4}, Shape{2, 8, 9, 4}, Shape{1, 16}, Shape{1}}) {
    std::vector<HostTensor<f32>> x;
    std::vector<Tensor<f32>> there;
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
      x.push_back(random_tensor<f32>(shape, seed));
      there.push_back(sent(x.back()));
    }
    const Combination plain{.coefficients = {0.7f, -0.3f, 1.9f, -2.1f}};
    const Combination scaled{
        .coefficients = {0.7f, -0.3f, 1.9f, -2.1f}, .first_divisor = 3, .factor = 1.0f / 24, .divisor = 0.7f};
    const Combination held{.coefficients = {1, 1, 1, 1}, .low = -0.5f, .high = 0.8f};
    for (const Combination& how : {plain, scaled, held, Combination{}}) {
      Tensor<f32> out(shape);
      combine_into(there[0].view(), how, out.view());
      x.resize(1);
      CHECK(wrong(out, [&](std::size_t i) { return combined(how, x, i); }) == 0);
      x.push_back(random_tensor<f32>(shape, 2));
      combine_into(there[0].view(), there[1].view(), how, out.view());
      CHECK(wrong(out, [&](std::size_t i) { return combined(how, x, i); }) == 0);
      x.push_back(random_tensor<f32>(shape, 3));
      combine_into(there[0].view(), there[1].view(), there[2].view(), how, out.view());
      CHECK(wrong(out, [&](std::size_t i) { return combined(how, x, i); }) == 0);
      x.push_back(random_tensor<f32>(shape, 4));
      combine_into(there[0].view(), there[1].view(), there[2].view(), there[3].view(), how, out.view());
      CHECK(wrong(out, [&](std::size_t i) { return combined(how, x, i); }) == 0);
      Tensor<f32> second = sent(x[1]);  // in its own place
      combine_into(there[0].view(), second.view(), how, second.view());
      x.resize(2);
      CHECK(wrong(second, [&](std::size_t i) { return combined(how, x, i); }) == 0);
      x.push_back(random_tensor<f32>(shape, 3));
      x.push_back(random_tensor<f32>(shape, 4));
    }
  }
}

TEST_CASE("a combination keeps what is not a number, and takes slices", "[sampler]") {
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  Tensor<f32> x = sent(HostTensor<f32>(Shape{1, 3}, std::vector<f32>{nan, 9, -9}));
  combine_into(x.view(), {.low = -1, .high = 1}, x.view());
  const auto held = to_host(x);
  CHECK(std::isnan(held.values()[0]));
  CHECK(held.values()[1] == 1);
  CHECK(held.values()[2] == -1);

  const auto wide_values = random_tensor<f32>({5, 12}, 1), others = random_tensor<f32>({5, 7}, 2);
  Tensor<f32> whole = sent(wide_values);
  const Tensor<f32> there = sent(others);
  combine_into(whole.view().columns_between(3, 7), there.view(), {.coefficients = {2, 3, 1, 1}},
               whole.view().columns_between(3, 7));
  CHECK(wrong(whole, [&](std::size_t i) {
          const std::size_t row = i / 12, column = i % 12;
          if (column < 3 || column >= 10) return wide_values.values()[i];
          return product(2, wide_values.values()[i]) + product(3, others.values()[row * 7 + column - 3]);
        }) == 0);
  CHECK_THROWS_AS(combine_into(there.view(), {}, whole.view()), ShapeError);
  CHECK_THROWS_AS(combine_into(whole.view(), there.view(), {}, whole.view()), ShapeError);
}

TEST_CASE("guidance and repainting are rounded step by step", "[sampler]") {
  const Shape shape{2, 6, 5, 4};
  std::vector<HostTensor<f32>> x;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) x.push_back(random_tensor<f32>(shape, seed));
  for (std::size_t i = 0; i < x[3].values().size(); ++i) x[3].values()[i] = i % 3 == 0;
  const Tensor<f32> a = sent(x[0]), b = sent(x[1]), c = sent(x[2]), mask = sent(x[3]);
  Tensor<f32> out(shape);
  guide_into(a.view(), b.view(), 7.3f, out.view());
  CHECK(wrong(out, [&](std::size_t i) {
          return x[0].values()[i] + product(7.3f, x[1].values()[i] - x[0].values()[i]);
        }) == 0);
  Tensor<f32> latents = sent(x[0]);
  repaint_into(latents.view(), b.view(), c.view(), mask.view(), {0.6f, 0.8f}, latents.view());
  CHECK(wrong(latents, [&](std::size_t i) {
          const f32 around = product(0.6f, x[1].values()[i]) + product(0.8f, x[2].values()[i]);
          const f32 inside = x[3].values()[i];
          return product(1 - inside, around) + product(inside, x[0].values()[i]);
        }) == 0);
  CHECK_THROWS_AS(guide_into(a.view(), Tensor<f32>(Shape{4}).view(), 2, out.view()), ShapeError);
  CHECK_THROWS_AS(
      repaint_into(out.view(), a.view(), b.view(), Tensor<f32>(Shape{4}).view(), {1, 0}, out.view()),
      ShapeError);
}

TEST_CASE("guidance is rescaled to the standard deviation of each image", "[sampler]") {
  for (const Shape& shape : {Shape{1, 2, 3, 4}, Shape{3, 9, 8, 4}, Shape{2, 40, 33, 4}}) {
    const std::int64_t pictures = shape[0];
    const auto values = static_cast<std::size_t>(shape.elements() / pictures);
    const auto guided = random_tensor<f32>(shape, 1, 3, 0.5),
               positive = random_tensor<f32>(shape, 2, 0.7, -2);
    for (const f32 share : {0.7f, 1.0f, 0.0f}) {
      std::vector<double> expected;
      for (std::size_t p = 0; p < static_cast<std::size_t>(pictures); ++p) {
        const auto deviation = [&](const HostTensor<f32>& x) {
          double sum = 0, squares = 0;
          for (std::size_t i = 0; i < values; ++i) sum += static_cast<double>(x.values()[p * values + i]);
          for (std::size_t i = 0; i < values; ++i) {
            const double away =
                static_cast<double>(x.values()[p * values + i]) - sum / static_cast<double>(values);
            squares += away * away;
          }
          return std::sqrt(squares / static_cast<double>(values - 1));
        };
        const double ratio = deviation(positive) / deviation(guided);
        for (std::size_t i = 0; i < values; ++i) {
          const auto x = static_cast<double>(guided.values()[p * values + i]);
          expected.push_back(static_cast<double>(share) * x * ratio + (1.0 - static_cast<double>(share)) * x);
        }
      }
      const Tensor<f32> there = sent(positive);
      const auto run = [&] {
        Tensor<f32> out = sent(guided);
        rescale_guidance_into(out.view(), there.view(), share, out.view());
        return out;
      };
      // A sum's terms take part in at most 73 additions and squares, halved by the root, and there are two of
      // them; six roundings more.
      CHECK(outside(run(), expected, [&](std::size_t i) { return 79 * unit<f32> * std::abs(expected[i]); }) ==
            "");
      check_repeats(run);
    }
  }
  Tensor<f32> one(Shape{2, 1});
  CHECK_THROWS_AS(rescale_guidance_into(one.view(), one.view(), 0.5f, one.view()), InputError);
  Tensor<f32> two(Shape{2, 2});
  CHECK_THROWS_AS(rescale_guidance_into(two.view(), two.view(), 1.5f, two.view()), InputError);
  CHECK_THROWS_AS(rescale_guidance_into(two.view(), one.view(), 0.5f, two.view()), ShapeError);
  Tensor<f32> single{Shape{}};
  CHECK_THROWS_AS(rescale_guidance_into(single.view(), single.view(), 0.5f, single.view()), ShapeError);
}

TEST_CASE("samplers' ops on a Context are the ops without", "[sampler]") {
  const Shape shape{2, 8, 4};
  const auto x = [&](std::uint32_t seed) { return sent(random_tensor<f32>(shape, seed)); };
  const auto same = [](const Tensor<f32>& a, const Tensor<f32>& b) {
    const auto first = to_host(a), second = to_host(b);
    return std::ranges::equal(first.values(), second.values());
  };
  const Context context = current_context();
  const Tensor<f32> one = x(1), two = x(2), mask = x(3);
  Tensor<f32> a = x(4), b = x(4);
  const Combination how{.coefficients = {0.7f, -0.3f, 1, 1}};
  combine_into(one.view(), two.view(), how, a.view(), context);
  combine_into(one.view(), two.view(), how, b.view());
  CHECK(same(a, b));
  guide_into(one.view(), two.view(), 7.5f, a.view(), context);
  guide_into(one.view(), two.view(), 7.5f, b.view());
  CHECK(same(a, b));
  rescale_guidance_into(a.view(), one.view(), 0.7f, a.view(), context);
  rescale_guidance_into(b.view(), one.view(), 0.7f, b.view());
  CHECK(same(a, b));
  repaint_into(a.view(), one.view(), two.view(), mask.view(), {0.5f, 0.25f}, a.view(), context);
  repaint_into(b.view(), one.view(), two.view(), mask.view(), {0.5f, 0.25f}, b.view());
  CHECK(same(a, b));
  CHECK_FALSE(same(a, x(4)));
}
