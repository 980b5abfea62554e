// Sums that are rounded at each addition, many at a time, have the bits of sums that are added one by one.
// Which of two NaN an addition keeps is the compiler's choice of their order: for NaN, that both are.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/matmul/rounded_sums.hpp>

using namespace precast;

TEMPLATE_TEST_CASE("sums rounded at each addition have the bits of single additions", "", f16, bf16) {
  std::mt19937 random(7);
  const auto unit = [&] { return static_cast<f32>(static_cast<std::int32_t>(random())) * 0x1p-31f; };
  const auto value_of = [&](int kind) {
    switch (kind) {
      case 0:  // any bits: NaN, infinities and what is subnormal among them
        return bit_cast<f32>(static_cast<std::uint32_t>(random()));
      case 1:  // what overflows f16
        return unit() * 1000;
      case 2:  // what is below its normal numbers
        return unit() * 0x1p-14f;
      case 3:  // sums in the middle between two numbers
        return convert_value<f32>(convert_value<TestType>(unit() * 8));
      default:
        return random() % 50 == 0 ? std::numeric_limits<f32>::infinity() * unit() : unit();
    }
  };
  for (int trial = 0; trial < 200; ++trial) {
    const auto columns = static_cast<std::int64_t>(random() % 40),
               features = static_cast<std::int64_t>(random() % 200);
    std::vector<f32> x(static_cast<std::size_t>(columns)),
        weights(x.size() * static_cast<std::size_t>(features));
    for (f32& value : x) value = value_of(trial % 5);
    for (f32& value : weights) value = value_of(trial % 5);
    std::vector<f32> sums(static_cast<std::size_t>(features), 1.0f);
    host::rounded_sums<TestType>(x.data(), weights.data(), columns, features, sums.data());
    for (std::int64_t f = 0; f < features; ++f) {
      f32 expected = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        expected = add_rounded<TestType>(
            expected, x[static_cast<std::size_t>(k)] * weights[static_cast<std::size_t>(k * features + f)]);
      INFO("kind " << trial % 5 << ", " << columns << " columns, feature " << f << " of " << features);
      const f32 sum = sums[static_cast<std::size_t>(f)];
      // What it keeps of a NaN is a number of the format too, so that rounding it again changes nothing.
      REQUIRE(std::isnan(sum) == std::isnan(expected));
      const f32 again = std::isnan(expected) ? convert_value<f32>(convert_value<TestType>(sum)) : expected;
      REQUIRE(bit_cast<std::uint32_t>(sum) == bit_cast<std::uint32_t>(again));
    }
  }
}

TEMPLATE_TEST_CASE("a sum just beside the middle between two numbers rounds to its own side", "", f16, bf16) {
  std::mt19937 random(11);
  constexpr std::int64_t features = 64;
  constexpr int digits = std::is_same_v<TestType, f16> ? 11 : 8,
                lowest = std::is_same_v<TestType, f16> ? -14 : -126;
  const std::vector<f32> x{1, 1};
  std::vector<f32> weights(2 * features), sums(features);
  for (int trial = 0; trial < 300; ++trial) {
    // From what is subnormal to numbers, one power of two at a time: lanes in doubt have their neighbours
    // computed as they are.
    const int exponent = lowest + trial % 24 - (std::is_same_v<TestType, f16> ? 8 : 0);
    for (std::size_t f = 0; f < features; ++f) {
      const auto value = convert_value<f32>(
          convert_value<TestType>(std::ldexp(1 + static_cast<f32>(random()) * 0x1p-32f, exponent)));
      const f32 half = std::ldexp(1.0f, std::max(std::ilogb(value), lowest) - digits);
      // In the middle, or nearer or farther by what f32 drops from the sum.
      const f32 beside = 1 + static_cast<f32>(static_cast<int>(random() % 3) - 1) * 0x1p-20f;
      const f32 sign = random() % 2 == 0 ? 1.0f : -1.0f;
      weights[f] = sign * value;
      weights[features + f] = (random() % 2 == 0 ? 1.0f : -1.0f) * half * beside;
    }
    host::rounded_sums<TestType>(x.data(), weights.data(), 2, features, sums.data());
    for (std::size_t f = 0; f < features; ++f) {
      INFO(weights[f] << " + " << weights[features + f]);
      REQUIRE(sums[f] == add_rounded<TestType>(weights[f], weights[features + f]));
      const double exact = static_cast<double>(weights[f]) + static_cast<double>(weights[features + f]);
      if (std::is_same_v<TestType, f16> || std::fabs(exact) > 0x1p-100) {
        const f32 below = convert_value<f32>(convert_value<TestType>(std::nextafter(sums[f], -1e9f)));
        CHECK(std::fabs(sums[f] - exact) <= std::fabs(static_cast<double>(below) - exact));
      }
    }
  }
}

TEMPLATE_TEST_CASE("sums of attention's tiles are rounded at each addition", "", f16, bf16, fp8_e4m3) {
  std::mt19937 random(13);
  std::normal_distribution<f32> normal;
  using Tile = f32;
  const std::int64_t panel = host::detail::panel_columns<Tile>(128);
  for (const std::int64_t rows : {1, 5, 6, 13})
    for (const std::int64_t columns : {host::Lanes::width, 3 * host::Lanes::width, std::int64_t{128}}) {
      constexpr std::int64_t depth = 37;
      const std::int64_t room = rounded_up(rows, 2 * host::detail::rows_at_once);
      std::vector<f32> a(static_cast<std::size_t>(room * depth)),
          b(static_cast<std::size_t>(rounded_up(columns, panel) * depth)),
          c(static_cast<std::size_t>(room * columns)), factors(static_cast<std::size_t>(room), 1.0f);
      for (std::vector<f32>* const values : {&a, &b, &c})
        for (f32& value : *values) {
          value = convert_value<f32>(convert_value<TestType, false>(normal(random) * 4));
          if (random() % 2000 == 0) value = std::numeric_limits<f32>::quiet_NaN();
          if (random() % 2000 == 0) value = std::numeric_limits<f32>::infinity();
        }
      const host::detail::PackedOperand<Tile> packed{b.data(), depth, panel};
      for (const bool adds : {false, true}) {
        const std::vector<f32> before = c;
        host::detail::multiply_tile<Tile, TestType>(a.data(), depth, packed, depth, c.data(), columns,
                                                    adds ? factors.data() : nullptr, rows, columns);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t column = 0; column < columns; ++column) {
            const auto at = static_cast<std::size_t>(r * columns + column);
            f32 expected = adds ? before[at] : 0.0f;
            for (std::int64_t k = 0; k < depth; ++k)
              expected = convert_value<f32>(convert_value<TestType, false>(std::fma(
                  a[static_cast<std::size_t>(r * depth + k)],
                  packed.from_column(column / panel * panel)[k * panel + column % panel], expected)));
            INFO(rows << " rows, column " << column << " of " << columns);
            REQUIRE(std::isnan(c[at]) == std::isnan(expected));
            if (!std::isnan(expected))
              REQUIRE(bit_cast<std::uint32_t>(c[at]) == bit_cast<std::uint32_t>(expected));
          }
      }
    }
}
