// An optimiser's step on registers of values, against the step on one value, and sums over pieces of
// gradients.
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/dtype/convert_value.hpp>
#include <precast/host/optimiser/optimiser_values.hpp>

using namespace precast;

namespace {

/// Values of all signs and magnitudes; some are no numbers, or subnormal.
template <class T>
std::vector<T> values_of(std::size_t count, std::uint32_t seed) {
  constexpr f32 special[] = {0.0f,
                             -0.0f,
                             0x1p-140f,
                             -0x1p-149f,
                             0x1p-24f,
                             -65504,
                             3e38f,
                             0x1p-15f,
                             std::numeric_limits<f32>::infinity(),
                             -std::numeric_limits<f32>::infinity(),
                             std::numeric_limits<f32>::quiet_NaN()};
  std::vector<T> values(count);
  for (T& value : values) {
    seed = seed * 1664525u + 1013904223u;
    const std::uint32_t which = seed >> 8 & 31;
    value =
        convert_value<T>(which < std::size(special) ? special[which]
                                                    : std::ldexp(static_cast<f32>(seed >> 8) / 0x1p23f - 1,
                                                                 static_cast<int>(which) - 26));
  }
  return values;
}

template <class T>
bool alike(T a, T b) {
  const f32 x = convert_value<f32>(a), y = convert_value<f32>(b);
  return (std::isnan(x) && std::isnan(y)) || bit_cast<std::uint32_t>(x) == bit_cast<std::uint32_t>(y);
}

}  // namespace

TEMPLATE_TEST_CASE("AdamW's step on registers has the bits of the step on one value", "", f32, f16, bf16) {
  using T = TestType;
  const double beta1 = GENERATE(0.9, 0.3);  // both forms of the mean
  const bool decays = GENERATE(false, true);
  const AdamWStep<T> step({.lr = 0.01, .beta1 = beta1}, 3);
  for (const std::size_t count : {1u, 7u, 16u, 61u, 5000u}) {
    auto parameter = values_of<T>(count, 1), mean = values_of<T>(count, 2), square = values_of<T>(count, 3);
    const auto gradient = values_of<T>(count, 4);
    const auto was = parameter, was_mean = mean, was_square = square;
    host::adamw_values<T>(parameter, gradient, mean, square, step, decays);
    std::int64_t other = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const AdamWValues<> one =
          step(AdamWValues<>{convert_value<f32>(was[i]), convert_value<f32>(was_mean[i]),
                             convert_value<f32>(was_square[i])},
               convert_value<f32>(gradient[i]), decays);
      other += !alike(parameter[i], convert_value<T>(one.parameter)) ||
               !alike(mean[i], convert_value<T>(one.mean)) || !alike(square[i], convert_value<T>(one.square));
    }
    CHECK(other == 0);
  }
}

TEST_CASE("AdamW's square roots set no errno, for which a compiler would take them one by one") {
  std::vector<f32> parameter(64, 1.0f), mean(64, 1.0f), square(64, -1.0f);
  const std::vector<f32> gradient(64, 0.5f);
  errno = 0;
  host::adamw_values<f32>(parameter, gradient, mean, square, AdamWStep<f32>({}, 1), true);
  CHECK(errno == 0);
  CHECK(std::isnan(parameter[0]));
}

TEMPLATE_TEST_CASE("gradients are unscaled, counted and their squares summed to the last value", "", f32, f16,
                   bf16) {
  for (const std::size_t count : {0u, 1u, 31u, 33u, 511u, 513u, 16384u, 16385u, 40007u}) {
    std::vector<TestType> values(count);
    double expected = 0;  // of whole numbers, which every order sums exactly
    for (std::size_t i = 0; i < count; ++i) {
      const f32 value = static_cast<f32>(i * 7919 % 17) - 8.0f;
      values[i] = convert_value<TestType>(2 * value);
      expected += value * value;
    }
    CHECK(host::unscale_values<TestType>(values, 0.5f) == 0);
    CHECK(host::sum_of_squares(std::span<const TestType>(values)) == expected);
    if (count == 0) continue;
    values[count - 1] = convert_value<TestType>(std::numeric_limits<f32>::infinity());
    values[0] = convert_value<TestType>(std::numeric_limits<f32>::quiet_NaN());
    CHECK(host::unscale_values<TestType>(values, 1.0f) == (count == 1 ? 1 : 2));
  }
}
