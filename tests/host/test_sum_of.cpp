// sum_of: one order of additions, whichever of its functions adds.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/host/rows/sums.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("sums of few terms have the bits of the order that all sums have", "[sum_of]") {
  const auto values = random_tensor<f32>({31, 31}, 1);
  for (std::int64_t count = 0; count < 32; ++count)
    for (std::int64_t row = 0; row < 31; ++row) {
      CAPTURE(count, row);
      const auto check = [&](const auto& term) {
        REQUIRE(std::bit_cast<std::uint32_t>(host::sum_of(count, term)) ==
                std::bit_cast<std::uint32_t>(host::detail::sum_of_blocks(0, count, term)));
      };
      const f32* const x = values.data() + row * 31;
      check([x](std::int64_t i) { return x[i]; });
      check([x](std::int64_t i) { return x[i] * x[i]; });
      check([](std::int64_t) { return -0.0f; });
      check([x, row](std::int64_t i) { return i == row ? -0.0f : x[i] * 1e30f * 1e8f; });
    }
}

TEST_CASE("a sum adds to 32 lanes in turn, and these by halves", "[sum_of]") {
  const auto values = random_tensor<f32>({1, 232}, 2);  // more than are added
  for (std::int64_t count = 0; count <= 200; ++count) {
    CAPTURE(count);
    std::array<f32, 32> lanes{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) lanes[i % 32] += values.values()[i];
    for (std::size_t half = 16; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    REQUIRE(std::bit_cast<std::uint32_t>(host::sum_of(count, [&](std::int64_t i) {
              return values.data()[i];
            })) == std::bit_cast<std::uint32_t>(lanes[0]));
    REQUIRE(std::bit_cast<std::uint32_t>(host::sum_of_padded(values.data(), count)) ==
            std::bit_cast<std::uint32_t>(lanes[0]));
  }
}

TEST_CASE("a sum of no terms, and of negative zeros, is +0", "[sum_of]") {
  REQUIRE(std::bit_cast<std::uint32_t>(host::sum_of(0, [](std::int64_t) { return 1.0f; })) == 0);
  const std::array<f32, 32> minus_zeros = {-0.0f, -0.0f, std::numeric_limits<f32>::quiet_NaN()};
  for (const std::int64_t count : {0, 1, 2})
    REQUIRE(std::bit_cast<std::uint32_t>(host::sum_of_padded(minus_zeros.data(), count)) == 0);
}
