// Products in float64, for tests of matmul and convolution, and the policies that they are tested under.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <support/arrays.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/problem/activate.hpp>

namespace precast::testing {

/// Storages, operands and results in every combination of kind: the same, narrower, wider, and widened to
/// f32.
using ProductPolicies =
    std::tuple<Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>, Policy<Storage<fp8_e4m3>>,
               Policy<Storage<fp8_e5m2>>, Policy<Storage<f32>, Compute<tf32>>,
               Policy<Storage<f32>, Compute<bf16>>, Policy<Storage<f16>, Compute<bf16>>,
               Policy<Storage<fp8_e4m3>, Compute<f16>>, Policy<Storage<bf16>, Compute<f16>, Activation<f32>>,
               Policy<Storage<f32>, Compute<fp8_e4m3>, Activation<f32>>,
               Policy<Storage<bf16>, Upcast<Matmul, Conv>>, Policy<Storage<f16>, Upcast<Matmul, Conv>>,
               Policy<Storage<f16>, Accumulate<f16>>,
               Policy<Storage<bf16>, Accumulate<bf16>, Activation<f32>>>;

/// Integers of at most four: exact in every dtype, as are their products, and their sums in f32.
template <class T>
Tensor<T> random_integers(const Shape& shape, std::uint32_t seed) {
  Tensor<T> tensor(shape);
  std::mt19937 generator(seed);
  for (T& value : tensor.values()) value = from_double<T>(static_cast<int>(generator() % 9) - 4);
  return tensor;
}

/// The values as operands of a policy's products.
template <class Types, ScalarArray A>
std::vector<double> operands(const A& array) {
  std::vector<double> values = wide(array);
  for (double& value : values) value = to_double(from_double<typename Types::operand>(value));
  return values;
}

inline double activated(Activate activate, double x) {
  switch (activate) {
    case Activate::none:
      return x;
    case Activate::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activate::gelu_erf:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activate::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activate::silu:
      return x / (1 + std::exp(-x));
    case Activate::relu:
      return x < 0 ? 0 : x;
  }
  return x;
}

/// Sums of products as the kernels should give them, and how far off their f32 (or narrower) sums may be.
template <class Types>
class ExpectedSums {
 public:
  /// Adds the product of two rows of the same length, and a bias.
  void add(const double* x, const double* weight, std::int64_t count, double bias) {
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      sum += x[k] * weight[k];
      magnitude += std::abs(x[k] * weight[k]);
    }
    add(sum, magnitude, count, bias);
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

  /// What lies outside of its bound after an activation; empty where nothing does.
  template <ScalarArray A>
  std::string outside(const A& result, Activate activate = Activate::none) const {
    std::vector<double> expected;
    for (const double value : values_) expected.push_back(activated(activate, value));
    return testing::outside(result, expected, [&](std::size_t i) {
      if (activate == Activate::none) return bounds_[i];
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

}  // namespace precast::testing
