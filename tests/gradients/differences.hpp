// Gradients in float64 by finite differences, and what a kernel's may be away from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace precast::testing {

using Doubles = std::vector<double>;

/// The gradient of sum dy f(x) by five-point differences, whose error is about 1e-11 of the largest value on
/// the way.
inline Doubles differences(Doubles x, const Doubles& dy, const std::function<Doubles(const Doubles&)>& f) {
  Doubles gradient(x.size());
  const auto at = [&](std::size_t i, double value) {
    const double before = x[i];
    x[i] = value;
    const Doubles y = f(x);
    x[i] = before;
    double sum = 0;
    for (std::size_t k = 0; k < y.size(); ++k) sum += dy[k] * y[k];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = 1e-3 * std::max(1.0, std::abs(x[i]) * 1e-1);
    gradient[i] =
        (8 * (at(i, x[i] + h) - at(i, x[i] - h)) - (at(i, x[i] + 2 * h) - at(i, x[i] - 2 * h))) / (12 * h);
  }
  return gradient;
}

/// The Euclidean length of x, and of a - b.
inline double length(const Doubles& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}
inline double distance(const Doubles& a, const Doubles& b) {
  Doubles difference = a;
  for (std::size_t i = 0; i < b.size(); ++i) difference[i] -= b[i];
  return a.size() == b.size() ? length(difference) : HUGE_VAL;
}

/// How far a gradient by the chain rule in float64 is from differences, in units of what theirs may be off.
inline double apart(const Doubles& gradient, const Doubles& by_differences) {
  return distance(gradient, by_differences) / (1e-9 * (1 + length(by_differences)));
}

}  // namespace precast::testing
