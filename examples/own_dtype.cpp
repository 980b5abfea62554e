// A number format of one's own, defined outside Precast: fp6 (3 exponent bits, 2 mantissa bits, no infinity,
// no NaN), as OCP's MX specification has it. A type and its facts are all it takes; policies and ops follow.
// g++ -std=c++20 -O3 -march=native -Iinclude examples/own_dtype.cpp -ldnnl -lgomp
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>

#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>

struct fp6_e3m2 {
  std::uint8_t bits = 0;
};

template <>
struct precast::dtype_traits<fp6_e3m2> {
  static constexpr std::string_view name = "fp6_e3m2";
  static constexpr int values_per_block = 1;
  static constexpr int bytes_per_block = 1;
  static constexpr precast::FloatFormat format{3, 2, precast::Specials::none};
};

using namespace precast;

// The facts follow from the format, and are constants.
static_assert(dtype_traits<fp6_e3m2>::format.max() == 28);
static_assert(to_double(convert<fp6_e3m2>(1000.0f)) == 28, "without infinity, what is too large saturates");

// Weights rest in fp6 and are multiplied in bf16.
using Weights6 = Policy<Storage<fp6_e3m2>, Compute<bf16>>;

int main() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Tensor<bf16> x({4, 128});
  Tensor<fp6_e3m2> stored({8, 128});
  for (bf16& value : x.values()) value = convert<bf16>(normal(random));
  for (fp6_e3m2& value : stored.values()) value = convert<fp6_e3m2>(normal(random));

  const Tensor<bf16> product = linear<Weights6>(x, LinearWeight<Weights6>(stored.view()));

  // The same product by hand: fp6 widens to bf16 exactly, so only the result is rounded.
  double worst = 0;
  for (std::int64_t row = 0; row < 4; ++row)
    for (std::int64_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < 128; ++i)
        sum += to_double(x.view().row(row)[i]) * to_double(stored.view().row(column)[i]);
      const double result = to_double(product.view().row(row)[static_cast<std::size_t>(column)]);
      // Half an ulp of bf16 for the result's rounding, and f32's own for the sum.
      const double allowed =
          dtype_traits<bf16>::format.ulp(sum) / 2 + 128 * dtype_traits<f32>::format.ulp(sum * 8);
      worst = std::max(worst, std::abs(result - sum) / allowed);
    }
  std::printf("%s: %lld weights in %lld bytes; largest error %.2f of what rounding allows\n",
              dtype_traits<fp6_e3m2>::name.data(), static_cast<long long>(stored.elements()),
              static_cast<long long>(bytes_for<fp6_e3m2>(stored.elements())), worst);
  return worst <= 1 ? 0 : 1;
}
