// Rotary and timestep embeddings on this translation unit's backend against float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>

#include <precast/ops/rotary.hpp>
#include <precast/ops/timestep_embedding.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// [batch, tokens, heads * width].
struct RotaryCase {
  std::int64_t batch, tokens, heads, width;
};
constexpr RotaryCase rotary_cases[] = {{0, 5, 3, 12}, {2, 0, 3, 12}, {1, 1, 1, 2},   {2, 5, 3, 12},
                                       {2, 5, 3, 64}, {2, 5, 3, 30}, {1, 7, 2, 128}, {1, 3, 1, 256}};

struct TimestepCase {
  std::int64_t times, width;
  TimestepWaves waves = {};
};
constexpr TimestepCase timestep_cases[] = {
    {0, 256},           {1, 2}, {4, 7}, {4, 256}, {70, 320}, {3, 1025}, {4, 256, {false}}, {4, 7, {false, 1}},
    {3, 320, {true, 1}}};

}  // namespace

TEST_CASE("rotary tables have float64 angles, twice each", "[position]") {
  const std::vector<std::int64_t> axes{16, 56, 56};
  const std::vector<f32> ids{0, 0, 0, 0, 3, 61, 1, 1024, 7.5f};
  const RotaryTable table = rotary_table(axes, 10000, ids);
  REQUIRE(table.cos.shape() == Shape{3, 128});
  const auto cosines = wide(table.cos), sines = wide(table.sin);
  std::int64_t wrong = 0;
  for (std::size_t token = 0, at = 0; token < 3; ++token)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::int64_t i = 0; i < axes[a]; ++i, ++at) {
        const double frequency =
            std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(axes[a]));
        const double angle = ids[token * 3 + a] * frequency;
        // pow and 1 / pow may differ in the last bit of a double, which 1024 multiplies: far below an f32.
        wrong += std::abs(cosines[at] - std::cos(angle)) > unit<f32> * std::abs(std::cos(angle)) + 1e-12;
        wrong += std::abs(sines[at] - std::sin(angle)) > unit<f32> * std::abs(std::sin(angle)) + 1e-12;
      }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("rotary turns neighbouring pairs of each head", "[position]", NormPolicies) {
  using A = typename TestType::activation;
  for (const RotaryCase& c : rotary_cases) {
    const std::int64_t batch = c.batch, tokens = c.tokens, heads = c.heads, width = c.width;
    CAPTURE(batch, tokens, heads, width);
    const std::int64_t columns = heads * width;
    const auto x = random_tensor<A>({batch, tokens, columns}, 1, 2);
    const auto cosines = random_tensor<f32>({tokens, width}, 2),
               sines = random_tensor<f32>({tokens, width}, 3);
    const RotaryTable table{sent(cosines), sent(sines)};
    const auto in = wide(x), cos = wide(cosines), sin = wide(sines);
    std::vector<double> expected(in.size()), bounds(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      const auto at = static_cast<std::size_t>(place / columns % tokens * width + place % width);
      const double other = i % 2 == 0 ? -in[i + 1] : in[i - 1];
      expected[i] = in[i] * cos[at] + other * sin[at];
      bounds[i] = 2 * unit<f32> * (std::abs(in[i] * cos[at]) + std::abs(other * sin[at]));
    }
    const auto bound = [&](std::size_t i) { return bounds[i]; };
    const auto run = [&] { return rotary<TestType>(sent(x), table); };
    CHECK(outside(run(), expected, bound) == "");
    check_repeats(run);
    // Into a slice, whose first column is aligned or not.
    for (const std::int64_t first : {3, 8}) {
      Tensor<A> target = sent(filled<A>({batch, tokens, columns + 2 * first}, 9));
      rotary_into<TestType>(sent(x), table, target.view().columns_between(first, columns));
      const auto got = to_host(target);
      CHECK(outside(got.view().columns_between(first, columns), expected, bound) == "");
      for (const double untouched : wide(got.view().columns_between(0, first))) CHECK(untouched == 9);
      for (const double untouched : wide(got.view().columns_between(first + columns, first)))
        CHECK(untouched == 9);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("rotary of rows that lie further apart than those of its table", "[position]",
                        NormPolicies) {
  using A = typename TestType::activation;
  const std::int64_t tokens = 5, width = 30, columns = 32;  // where a vector begins, and none in the table
  const auto x = random_tensor<A>({tokens, columns}, 1);
  const Tensor<A> there = sent(x);
  const RotaryTable table{sent(random_tensor<f32>({tokens, width}, 2)),
                          sent(random_tensor<f32>({tokens, width}, 3))};
  Tensor<A> target = sent(filled<A>({1, tokens, columns}, 9));
  const auto part = there.view().reshaped({1, tokens, columns}).columns_between(0, width);
  rotary_into<TestType>(part, table, target.view().columns_between(0, width));
  HostTensor<A> copy({1, tokens, width});
  for (std::int64_t r = 0; r < tokens; ++r)
    std::ranges::copy(x.view().columns_between(0, width).row(r), copy.view().row(r).begin());
  CHECK(wide(to_host(target).view().columns_between(0, width)) ==
        wide(to_host(rotary<TestType>(sent(copy), table))));
}

TEMPLATE_LIST_TEST_CASE("timestep embeddings have cosines and sines", "[position]", NormPolicies) {
  for (const TimestepCase& c : timestep_cases) {
    const std::int64_t count = c.times, dim = c.width;
    CAPTURE(count, dim);
    std::vector<f32> times{0, 1, 499.5f, 1000};
    while (static_cast<std::int64_t>(times.size()) < count) times.push_back(static_cast<f32>(times.size()));
    times.resize(static_cast<std::size_t>(count));
    const Tensor<f32> there(Shape{count}, times);
    const auto result = timestep_embedding<TestType>(there, dim, c.waves);
    REQUIRE(result.shape() == Shape{count, dim});
    // A column of rows that lie apart is times too.
    std::vector<f32> apart;
    for (const f32 time : times) apart.insert(apart.end(), {time, -1, -1});
    const Tensor<f32> rows(Shape{count, 3}, apart);
    CHECK(same_bits(timestep_embedding<TestType>(rows.view().columns_between(0, 1), dim, c.waves), result));
    const std::int64_t half = dim / 2;
    const auto cosines = static_cast<std::size_t>(c.waves.cosines_first ? 0 : half),
               sines = static_cast<std::size_t>(half) - cosines;
    std::vector<double> expected(static_cast<std::size_t>(count * dim)), bounds(expected.size());
    for (std::size_t t = 0; t < times.size(); ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent =
            std::log(10000.0) * static_cast<double>(i) / static_cast<double>(half - c.waves.frequency_shift);
        const double angle = times[t] * std::exp(-exponent);
        const std::size_t at = t * static_cast<std::size_t>(dim) + static_cast<std::size_t>(i);
        expected[at + cosines] = std::cos(angle);
        expected[at + sines] = std::sin(angle);
        // The angle is computed in f32: three roundings of the exponent, which exp turns into relative ones,
        // and two.
        bounds[at] = bounds[at + static_cast<std::size_t>(half)] = angle * unit<f32> * (3 * exponent + 2);
      }
    CHECK(outside(result, expected, [&](std::size_t i) { return bounds[i]; }) == "");
  }
}
