// Products in float64, for tests of matmul and convolution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <support/activations.hpp>
#include <support/arrays.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/problem/conv_sizes.hpp>

namespace precast::testing {

/// The values as operands of a policy's products.
template <class Types, ScalarArray A>
std::vector<double> operands(const A& array) {
  std::vector<double> values = wide(array);
  for (double& value : values) value = to_double(from_double<typename Types::operand>(value));
  return values;
}

/// Whether fp8 is multiplied by Hopper's tensor cores, which truncate the addends of 32 products at a time
/// to 13 bits below the largest.
#if defined(PRECAST_USE_CUDA) && !defined(PRECAST_EMULATE_CUDA)
inline constexpr bool on_fp8_tensor_cores = true;
#else
inline constexpr bool on_fp8_tensor_cores = false;
#endif

/// Expected sums of products, and error bounds of the kernels' f32 (or narrower) sums.
template <class Types>
class ExpectedSums {
 public:
  /// Adds the product of two rows of the same length, and a bias.
  void add(const double* x, const double* weight, std::int64_t count, double bias) {
    double sum = 0, magnitude = 0, largest = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const double product = x[k] * weight[k];
      sum += product;
      magnitude += std::abs(product);
      largest = std::max(largest, std::abs(product));
    }
    add(sum, magnitude, count, bias);
    if (on_fp8_tensor_cores && std::is_same_v<typename Types::operand, fp8_e4m3>)
      bounds_.back() += std::ldexp(static_cast<double>(count) * (largest + magnitude / 32), -13);
  }
  void add(double sum, double magnitude, std::int64_t count, double bias) {
    using Sum = typename Types::accumulate;
    const auto n = static_cast<double>(count);
    // Every product and every addition rounds once; each may also lose a subnormal, as AVX-512's bf16
    // products do.
    bounds_.push_back((n + 2) * unit<Sum> * magnitude + 2 * unit<f32> * (std::abs(sum) + std::abs(bias)) +
                      n * dtype_traits<Sum>::format.min_normal() * unit<Sum> +
                      n * dtype_traits<f32>::format.min_normal());
    values_.push_back(sum + bias);
  }

  const std::vector<double>& values() const { return values_; }

  /// The result outside of its bound after an activation, in words; empty where none is.
  template <ScalarArray A>
  std::string outside(const A& result, ActivationFunction activate = ActivationFunction::none) const {
    std::vector<double> expected;
    for (const double value : values_) expected.push_back(activated(activate, value));
    return testing::outside(result, expected, [&](std::size_t i) {
      if (activate == ActivationFunction::none) return bounds_[i];
      // No activation is steeper than 1.13. Each is within 8 units of itself, given an argument that is off
      // by as many.
      return 1.13 * bounds_[i] + 8 * unit<f32> * (std::abs(expected[i]) + std::abs(values_[i] * expected[i]));
    });
  }

  /// The first result that is not the exact sum, rounded once; empty where all are.
  template <ScalarArray A>
  std::string inexact(const A& result) const {
    using T = value_type_of<A>;
    const std::vector<double> got = wide(result);
    if (got.size() != values_.size()) return std::to_string(got.size()) + " values";
    for (std::size_t i = 0; i < got.size(); ++i)
      if (const double rounded = to_double(from_double<T>(values_[i])); got[i] != rounded)
        return "result " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
               std::to_string(rounded);
    return {};
  }

 private:
  std::vector<double> values_, bounds_;
};

/// x weight^T + bias. The bias may be empty.
template <class Types, ScalarArray X, ScalarArray W, ScalarArray B>
ExpectedSums<Types> expected_products(const X& x, const W& weight, const B& bias) {
  const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
  const HostView<const value_type_of<X>> rows = x;
  const HostView<const value_type_of<W>> features = weight;
  const std::int64_t columns = features.columns();
  ExpectedSums<Types> sums;
  for (std::int64_t r = 0; r < rows.rows(); ++r)
    for (std::int64_t f = 0; f < features.rows(); ++f)
      sums.add(wide_x.data() + r * columns, wide_weight.data() + f * columns, columns,
               wide_bias.empty() ? 0 : wide_bias[static_cast<std::size_t>(f)]);
  return sums;
}

/// The sizes of a convolution.
struct ConvCase {
  std::int64_t batch, height, width, channels, features, kernel_height, kernel_width;
  std::int64_t stride = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  ConvSizes sizes() const {
    return {.batch = batch,
            .height = height,
            .width = width,
            .channels = channels,
            .kernel_height = kernel_height,
            .kernel_width = kernel_width,
            .stride = stride,
            .pad_top = pad_top,
            .pad_left = pad_left,
            .out_height = (height + pad_top + pad_bottom - kernel_height) / stride + 1,
            .out_width = (width + pad_left + pad_right - kernel_width) / stride + 1};
  }
  std::int64_t multiplications() const { return sizes().pixels() * sizes().patch() * features; }

  Shape picture() const { return {batch, height, width, channels}; }
  Shape weight() const { return {features, channels, kernel_height, kernel_width}; }
};

/// The sums of a convolution, with the weight in files' layout: [features, channels, kernel_height,
/// kernel_width].
template <class Types, ScalarArray X, ScalarArray W, ScalarArray B>
ExpectedSums<Types> expected_conv(const ConvCase& c, const X& x, const W& weight, const B& bias) {
  const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
  const ConvSizes sizes = c.sizes();
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  ExpectedSums<Types> sums;
  for (std::int64_t pixel = 0; pixel < sizes.pixels(); ++pixel)
    for (std::int64_t f = 0; f < c.features; ++f) {
      double sum = 0, magnitude = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t row = pixel / sizes.out_width;
        const std::int64_t y = row % sizes.out_height * c.stride + tap / c.kernel_width - c.pad_top;
        const std::int64_t z = pixel % sizes.out_width * c.stride + tap % c.kernel_width - c.pad_left;
        if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
        const double* const from =
            wide_x.data() + ((row / sizes.out_height * c.height + y) * c.width + z) * c.channels;
        const double* const with = wide_weight.data() + f * c.channels * taps + tap;
        for (std::int64_t k = 0; k < c.channels; ++k) {
          sum += from[k] * with[k * taps];
          magnitude += std::abs(from[k] * with[k * taps]);
        }
      }
      sums.add(sum, magnitude, taps * c.channels,
               wide_bias.empty() ? 0 : wide_bias[static_cast<std::size_t>(f)]);
    }
  return sums;
}

}  // namespace precast::testing
