// Rotary and timestep embeddings against float64.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/ops/position.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {
using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
}  // namespace

TEST_CASE("rotary tables have float64 angles, twice each", "[position]") {
  const std::vector<std::int64_t> axes{16, 56, 56};
  const std::vector<f32> ids{0, 0, 0, 0, 3, 61, 1, 1024, 7.5f};
  const RotaryTable table = rotary_table(axes, 10000, ids);
  REQUIRE(table.cos.shape() == Shape{3, 128});
  std::int64_t wrong = 0;
  for (std::int64_t token = 0; token < 3; ++token) {
    std::int64_t column = 0;
    for (std::size_t a = 0; a < 3; ++a)
      for (std::int64_t i = 0; i < axes[a]; ++i, ++column) {
        const double frequency =
            std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(axes[a]));
        const double angle = ids[static_cast<std::size_t>(token) * 3 + a] * frequency;
        // pow and 1 / pow may differ in the last bit of a double, which 1024 multiplies: far below an f32.
        wrong += std::abs(table.cos.data()[token * 128 + column] - std::cos(angle)) >
                 unit<f32> * std::abs(std::cos(angle)) + 1e-12;
        wrong += std::abs(table.sin.data()[token * 128 + column] - std::sin(angle)) >
                 unit<f32> * std::abs(std::sin(angle)) + 1e-12;
      }
  }
  CHECK(wrong == 0);
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{3}, 10000, ids), ShapeError);
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{4, 4}, 10000, ids), ShapeError);
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{}, 10000, ids), ShapeError);
}

TEMPLATE_TEST_CASE("rotary turns neighbouring pairs of each head", "[position]", F32, Bf16, F16) {
  using P = TestType;
  using A = typename P::activation;
  constexpr std::int64_t batch = 2, tokens = 5, heads = 3, width = 12;
  std::vector<f32> ids;
  for (int i = 0; i < tokens * 2; ++i) ids.push_back(static_cast<f32>(i));
  const RotaryTable table = rotary_table(std::vector<std::int64_t>{4, 8}, 100, ids);
  const auto x = random_tensor<A>(Shape{batch, tokens, heads * width}, 1, 2);
  const auto in = wide(x), cos = wide(table.cos), sin = wide(table.sin);
  std::vector<double> expected(in.size()), bounds(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t at = i / (heads * width) % tokens * width + i % width;
    const double other = i % 2 == 0 ? -in[i + 1] : in[i - 1];
    expected[i] = in[i] * cos[at] + other * sin[at];
    bounds[i] = 2 * unit<f32> * (std::abs(in[i] * cos[at]) + std::abs(other * sin[at]));
  }
  CHECK(outside(rotary<P>(x, heads, table), expected, [&](std::size_t i) { return bounds[i]; }) == "");
  Tensor<A> target(Shape{batch, tokens, 2 * heads * width});
  rotary_into<P>(x, heads, table, target.view().columns_between(heads * width, heads * width));
  CHECK(wide(target.view().columns_between(heads * width, heads * width)) ==
        wide(rotary<P>(x, heads, table)));
  CHECK(same_on_any_threads([&] { return rotary<P>(x, heads, table); }));
  CHECK_THROWS_WITH(rotary<P>(x, 2, table), Catch::Contains("[2, 5, 36] and [5, 12]"));
  CHECK_THROWS_AS(rotary<P>(x, 0, table), ShapeError);
}

TEMPLATE_TEST_CASE("timestep embeddings have cosines, then sines", "[position]", F32, Bf16) {
  const std::vector<f32> times{0, 1, 499.5f, 1000};
  for (const std::int64_t dim : {2, 7, 256}) {
    const auto result = timestep_embedding<TestType>(std::span<const f32>(times), dim);
    REQUIRE(result.shape() == Shape{4, dim});
    const std::int64_t half = dim / 2;
    std::vector<double> expected(static_cast<std::size_t>(4 * dim)), bounds(expected.size());
    for (std::size_t t = 0; t < 4; ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = std::log(10000.0) * static_cast<double>(i) / static_cast<double>(half);
        const double angle = times[t] * std::exp(-exponent);
        const std::size_t at = t * static_cast<std::size_t>(dim) + static_cast<std::size_t>(i);
        expected[at] = std::cos(angle);
        expected[at + static_cast<std::size_t>(half)] = std::sin(angle);
        // The angle is computed in f32: three roundings of the exponent, which exp turns into relative ones,
        // and two.
        bounds[at] = bounds[at + static_cast<std::size_t>(half)] = angle * unit<f32> * (3 * exponent + 2);
      }
    CHECK(outside(result, expected, [&](std::size_t i) { return bounds[i]; }) == "");
  }
  CHECK_THROWS_AS(timestep_embedding<TestType>(std::span<const f32>(times), 1), ShapeError);
}
