// Norms, softmax and functions of values as a row of the op table rounds them, in float64: each step of f32
// arithmetic is rounded to f32 and what it leaves to the row's dtype, so that kernels give these very bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/arrays.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/problem/narrow_steps.hpp>

namespace precast::testing {

/// x rounded to T.
template <class T>
double kept_in(double x) {
  return to_double(from_double<T>(x));
}

/// A step's value, rounded by f32 arithmetic and then by a store in Inside. (float64 has more than twice
/// the bits of f32, so that rounding twice is rounding once for one +, -, *, / or sqrt.)
template <class Inside>
double step(double value) {
  return kept_in<Inside>(kept_in<f32>(value));
}

/// A sum in Accumulate: value i goes to partial sum i mod 128, and these are added one after another.
template <class Accumulate>
double narrow_sum_of(const std::vector<double>& terms) {
  std::vector<double> sums(128);
  for (std::size_t i = 0; i < terms.size(); ++i)
    sums[i % 128] = kept_in<Accumulate>(sums[i % 128] + terms[i]);
  double total = 0;
  for (const double sum : sums) total = kept_in<Accumulate>(total + sum);
  return total;
}

/// The results for values that are normalised together, before scale and shift.
template <class Types>
std::vector<double> narrow_normalised(const std::vector<double>& x, Around around, double eps) {
  using Sum = typename Types::accumulate;
  using Inside = typename Types::inside;
  const auto n = static_cast<double>(x.size());
  std::vector<double> deviations = x, squares;
  if (around == Around::mean) {
    const double mean = step<Inside>(narrow_sum_of<Sum>(x) / n);
    for (double& value : deviations) value = step<Inside>(value - mean);
  }
  for (const double value : deviations) squares.push_back(step<Inside>(value * value));
  const double variance = step<Inside>(narrow_sum_of<Sum>(squares) / n);
  const double root = step<Inside>(std::sqrt(step<Inside>(variance + eps)));
  const double inverse = step<Inside>(1 / root);
  for (double& value : deviations) value = step<Inside>(value * inverse);
  return deviations;
}

/// The softmax of a row.
template <class Types>
std::vector<double> narrow_softmax_of(const std::vector<double>& x) {
  using Inside = typename Types::inside;
  const double largest = *std::max_element(x.begin(), x.end());
  std::vector<double> terms;
  for (const double value : x) terms.push_back(step<Inside>(std::exp(step<Inside>(value - largest))));
  const double sum = narrow_sum_of<typename Types::accumulate>(terms);
  for (double& term : terms) term /= sum;
  return terms;
}

}  // namespace precast::testing
