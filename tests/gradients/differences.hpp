// Gradients in float64 by finite differences, and what a kernel's may be away from them.
#pragma once

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

}  // namespace precast::testing
