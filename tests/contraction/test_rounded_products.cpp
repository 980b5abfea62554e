// Products that are rounded by themselves stay so whatever the flags of a program that includes the headers
// say: this folder is compiled as g++ compiles by default, with products fused into sums.
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/dtype/convert_value.hpp>
#include <precast/host/matmul/rounded_sums.hpp>
#include <precast/ops/layer_norm.hpp>
#include <precast/ops/rms_norm.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/train/optimiser.hpp>

using namespace precast;
using F32 = Policy<Storage<f32>>;

namespace {

/// A product that no compiler can fuse with anything.
f32 product(f32 a, f32 b) {
  const volatile f32 rounded = a * b;
  return rounded;
}

/// Values in (-0.5, 0.5) of the 24 bits of an f32.
HostTensor<f32> values_of(const Shape& shape, std::uint32_t seed) {
  HostTensor<f32> values(shape);
  for (f32& value : values.values()) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<f32>(seed >> 8) / 16777216.0f - 0.5f;
  }
  return values;
}

/// The sum of 64 terms as a row's statistics are summed: 32 lanes, then by halves.
f32 sum_of_64(const std::array<f32, 64>& terms) {
  std::array<f32, 32> sums;
  for (std::size_t i = 0; i < 32; ++i) sums[i] = terms[i] + terms[i + 32];
  for (std::size_t half = 16; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

}  // namespace

TEST_CASE("a sampler's step rounds its product") {
  const auto state = values_of(Shape{4096}, 1), velocity = values_of(Shape{4096}, 2);
  const f32 distance = 0.3713f;
  HostTensor<f32> stepped(Shape{4096});
  euler_step_into(state.view(), velocity.view(), distance, stepped.view());
  std::int64_t other = 0;
  for (std::size_t i = 0; i < 4096; ++i)
    other += stepped.values()[i] != state.values()[i] + product(distance, velocity.values()[i]);
  CHECK(other == 0);
}

TEST_CASE("AdamW's step rounds its products") {
  constexpr std::size_t count = 4096;
  auto parameter = values_of(Shape{count}, 3), mean = values_of(Shape{count}, 4),
       square = values_of(Shape{count}, 5);
  for (f32& value : square.values()) value = std::fabs(value);
  const auto gradient = values_of(Shape{count}, 6);
  const auto was_mean = mean.clone(), was_square = square.clone();
  const AdamWOptions options;
  const AdamWArrays<f32, f32> arrays{.master = parameter.view(),
                                     .gradient = gradient.view(),
                                     .mean = mean.view(),
                                     .square = square.view(),
                                     .stored = {},
                                     .decays = true};
  train::adamw_step<f32, f32>(std::span(&arrays, 1), options, 3);
  const auto weight1 = static_cast<f32>(1 - options.beta1), beta2 = static_cast<f32>(options.beta2),
             rest2 = static_cast<f32>(1 - options.beta2);
  std::int64_t other_means = 0, other_squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const f32 g = gradient.values()[i], m = was_mean.values()[i];
    other_means += mean.values()[i] != m + product(weight1, g - m);
    other_squares +=
        square.values()[i] != product(was_square.values()[i], beta2) + product(product(rest2, g), g);
  }
  CHECK(other_means == 0);
  CHECK(other_squares == 0);
}

TEST_CASE("norms round their squares") {
  constexpr std::int64_t rows = 100, width = 64;
  const auto x = values_of(Shape{rows, width}, 7);
  HostTensor<f32> ones(Shape{width}), zeros(Shape{width});
  for (f32& one : ones.values()) one = 1;
  for (f32& zero : zeros.values()) zero = 0;
  const auto rms = rms_norm<F32>(x, ones, {.eps = 1e-5}),
             layer = layer_norm<F32>(x, ones, zeros, {.eps = 1e-5});
  std::int64_t other_rms = 0, other_layer = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = x.view().row(r);
    std::array<f32, 64> terms, squares;
    for (std::size_t i = 0; i < 64; ++i) squares[i] = product(row[i], row[i]);
    const f32 inverse = 1.0f / std::sqrt(sum_of_64(squares) / 64.0f + 1e-5f);
    for (std::size_t i = 0; i < 64; ++i) terms[i] = row[i];
    const f32 mean = sum_of_64(terms) / 64.0f;
    for (std::size_t i = 0; i < 64; ++i) terms[i] = row[i] - mean;
    const f32 rest = sum_of_64(terms) / 64.0f;
    for (std::size_t i = 0; i < 64; ++i) squares[i] = product((row[i] - mean) - rest, (row[i] - mean) - rest);
    const f32 inverse_deviation = 1.0f / std::sqrt(sum_of_64(squares) / 64.0f + 1e-5f);
    for (std::size_t i = 0; i < 64; ++i) {
      other_rms += rms.view().row(r)[i] != row[i] * inverse;
      other_layer += layer.view().row(r)[i] != ((row[i] - mean) - rest) * inverse_deviation;
    }
  }
  CHECK(other_rms == 0);
  CHECK(other_layer == 0);
}

TEMPLATE_TEST_CASE("sums that are rounded at each addition add rounded products", "", f16, bf16) {
  // Few sums lie so near the middle between two values that their last bits decide. Some features are in
  // registers, some one by one.
  constexpr std::int64_t columns = 1000, features = 1000;
  const auto x = values_of(Shape{columns}, 11), weights = values_of(Shape{columns, features}, 12);
  std::vector<f32> sums(features);
  host::rounded_sums<TestType>(x.data(), weights.data(), columns, features, sums.data());
  std::int64_t other = 0;
  for (std::int64_t f = 0; f < features; ++f) {
    f32 sum = 0;
    for (std::int64_t k = 0; k < columns; ++k)
      sum = add_rounded<TestType>(sum, product(x.data()[k], weights.data()[k * features + f]));
    other += sums[static_cast<std::size_t>(f)] != sum;
  }
  CHECK(other == 0);
}
