// Arrays for tests of ops: random ones, wide copies, and the comparison with a float64 reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/as_view.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

/// Half of a dtype's eps: the largest relative error of one rounding.
template <class T>
inline constexpr double unit = dtype_traits<T>::format.eps() / 2;
template <class T>
inline constexpr double smallest = dtype_traits<T>::format.min_subnormal();

/// Normally distributed values, rounded to T.
template <class T>
Tensor<T> random_tensor(const Shape& shape, std::uint32_t seed, double scale = 1, double mean = 0) {
  Tensor<T> tensor(shape);
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(mean, scale);
  for (T& value : tensor.values()) value = from_double<T>(normal(generator));
  return tensor;
}

/// All values of a tensor or view as doubles, row by row.
template <ScalarArray A>
std::vector<double> wide(const A& array) {
  const auto view = as_view(array);
  std::vector<double> values;
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (const auto value : view.row(r)) values.push_back(to_double(value));
  return values;
}

/// The result furthest outside of its bound, in words; empty where all lie within. `bound(i)` is the largest
/// error that result i may have before it is stored; storing adds one rounding.
template <ScalarArray A>
std::string outside(const A& result, const std::vector<double>& expected,
                    const std::function<double(std::size_t)>& bound) {
  using T = value_type_of<A>;
  const std::vector<double> got = wide(result);
  std::ostringstream text;
  if (got.size() != expected.size()) text << got.size() << " values, not " << expected.size();
  double worst = 1;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const double inner = bound(i);
    const double most = inner + (std::abs(expected[i]) + inner) * unit<T> + smallest<T>;
    const double ratio = std::abs(got[i] - expected[i]) / most;
    if (ratio <= worst) continue;
    worst = std::isnan(ratio) ? HUGE_VAL : ratio;
    text.str("");
    text << "result " << i << " is " << got[i] << ", not " << expected[i] << ": " << ratio
         << " times its bound";
  }
  return text.str();
}

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  return a.shape() == b.shape() &&
         (a.elements() == 0 ||
          std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.elements())) == 0);
}

/// Another number of threads, for as long as it lives.
class Threads {
 public:
  explicit Threads(int count) : before_(host::threads()) { host::set_threads(count); }
  ~Threads() { host::set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Whether a computation gives the same bits on one thread, two and three.
template <class F>
bool same_on_any_threads(F&& compute) {
  const auto with = [&](int threads) {
    const Threads scope(threads);
    return compute();
  };
  const auto one = with(1);
  return same_bits(one, with(2)) && same_bits(one, with(3));
}

}  // namespace precast::testing
