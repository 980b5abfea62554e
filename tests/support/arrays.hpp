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
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

/// Half of a dtype's eps: the largest relative error of one rounding.
template <class T>
inline constexpr double unit = dtype_traits<T>::format.eps() / 2;
template <class T>
inline constexpr double smallest = dtype_traits<T>::format.min_subnormal();

/// Normally distributed values, rounded to T.
template <class T>
HostTensor<T> random_tensor(const Shape& shape, std::uint32_t seed, double scale = 1, double mean = 0) {
  HostTensor<T> tensor(shape);
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(mean, scale);
  for (T& value : tensor.values()) value = from_double<T>(normal(generator));
  return tensor;
}

/// Integers of at most four: exact in every dtype, as are their products, and their sums in f32.
template <class T>
HostTensor<T> random_integers(const Shape& shape, std::uint32_t seed) {
  HostTensor<T> tensor(shape);
  std::mt19937 generator(seed);
  for (T& value : tensor.values()) value = from_double<T>(static_cast<int>(generator() % 9) - 4);
  return tensor;
}

/// One value throughout.
template <class T>
HostTensor<T> filled(const Shape& shape, double value) {
  HostTensor<T> tensor(shape);
  for (T& each : tensor.values()) each = from_double<T>(value);
  return tensor;
}

/// A copy of the host's values in the memory that this translation unit's ops read.
template <class T>
Tensor<T> sent(const HostTensor<T>& values) {
  return Tensor<T>(values.shape(), values.values());
}

/// All values of a tensor or of a view of the host's as doubles, row by row.
template <class A>
  requires std::is_same_v<typename A::space, HostSpace> std::vector<double> wide(const A& array) {
    const HostView<const typename A::value_type> view = array;
    std::vector<double> values;
    for (std::int64_t r = 0; r < view.rows(); ++r)
      for (const auto value : view.row(r)) values.push_back(to_double(value));
    return values;
  }
template <class T, class Memory>
  requires(!Memory::on_host)
std::vector<double> wide(const Tensor<T, Memory>& tensor) { return wide(to_host(tensor)); }

/// The result furthest outside of its bound, in words; empty where all are within. `bound(i)` is the
/// largest error that result i may have before it is stored; storing adds one rounding. Where NaN or an
/// infinity is expected, nothing else will do.
template <ScalarArray A>
std::string outside(const A& result, const std::vector<double>& expected,
                    const std::function<double(std::size_t)>& bound) {
  using T = value_type_of<A>;
  const std::vector<double> got = wide(result);
  std::ostringstream text;
  if (got.size() != expected.size()) text << got.size() << " values, not " << expected.size();
  double worst = 1;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    double ratio = 0;
    if (std::isfinite(expected[i])) {
      const double inner = bound(i);
      const double most = inner + (std::abs(expected[i]) + inner) * unit<T> + smallest<T>;
      ratio = std::abs(got[i] - expected[i]) / most;
    } else if (got[i] != expected[i] && !(std::isnan(got[i]) && std::isnan(expected[i]))) {
      ratio = HUGE_VAL;
    }
    if (ratio <= worst) continue;
    worst = std::isnan(ratio) ? HUGE_VAL : ratio;
    text.str("");
    text << "result " << i << " is " << got[i] << ", not " << expected[i] << ": " << ratio
         << " times its bound";
  }
  return text.str();
}

template <class T, class Memory>
bool same_bits(const Tensor<T, Memory>& a, const Tensor<T, Memory>& b) {
  if constexpr (!Memory::on_host)
    return same_bits(to_host(a), to_host(b));
  else
    return a.shape() == b.shape() &&
           (a.elements() == 0 ||
            std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.elements())) == 0);
}

/// Sets another number of threads for as long as it lives.
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
