// The elementary functions against the C library's in double: how many ulp they are off, over all of f32.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/special_values.hpp>

#include <precast/host/rows/activate_row.hpp>
#include <precast/host/softmax/softmax.hpp>
#include <precast/problem/math.hpp>

using namespace precast;
using precast::testing::inf;
using precast::testing::not_a_number;

namespace {

/// Every 511th f32 of both signs, and all that lie near 0.
std::vector<f32> sweep() {
  std::vector<f32> values;
  for (std::uint32_t word = 0; word < 0x7f800000u; word += 511) {
    values.push_back(std::bit_cast<f32>(word));
    values.push_back(-values.back());
  }
  for (int i = -400000; i <= 400000; ++i) values.push_back(static_cast<f32>(i) * 2.9e-4f);
  return values;
}

struct Worst {
  double ulp = 0;
  f32 at = 0;
};

/// The largest error in units of the result's last place.
template <class F, class Reference>
Worst worst_of(const std::vector<f32>& values, F&& f, Reference&& reference) {
  Worst worst;
  for (const f32 x : values) {
    const double want = reference(static_cast<double>(x));
    const f32 got = f(x);
    double error = 0;
    if (static_cast<f32>(want) == got) continue;
    constexpr FloatFormat format = dtype_traits<f32>::format;
    error =
        std::isfinite(got) && std::abs(want) < format.max() ? std::abs(got - want) / format.ulp(want) : 1e9;
    if (!(error <= worst.ulp)) worst = {error, x};
  }
  return worst;
}

const double root_half = std::sqrt(0.5);

}  // namespace

TEST_CASE("elementary functions are within 3 ulp", "[vector_math]") {
  const auto values = sweep();
  const auto check = [&](const char* name, double bound, auto f, auto reference) {
    const Worst worst = worst_of(values, f, reference);
    INFO(name << ": " << worst.ulp << " ulp at " << worst.at);
    CHECK(worst.ulp <= bound);
  };
  check(
      "exp", 2, [](f32 x) { return math::exp(x); }, [](double x) { return std::exp(x); });
  check(
      "sigmoid", 3, [](f32 x) { return math::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); });
  check(
      "exp of a negative", 2, [](f32 x) { return math::exp_of_negative(-std::fabs(x)); },
      [](double x) { return std::fabs(x) > 86 ? 0.0 : std::exp(-std::fabs(x)); });
  check(
      "erfc of a positive", 5, [](f32 x) { return math::erfc_of_positive(std::fabs(x)); },
      [](double x) { return std::erfc(std::fabs(x)); });
}

TEST_CASE("activations follow their definitions", "[vector_math]") {
  const auto values = sweep();
  // An f32 argument of the inner function is off by half an ulp, which the function multiplies by its
  // condition number |z f'(z) / f(z)|, at most |z| here; beyond, results are subnormal or zero.
  std::int64_t wrong = 0;
  for (const f32 x : values) {
    const double wide = x;
    const auto check = [&](f32 got, double want, double inner) {
      constexpr FloatFormat format = dtype_traits<f32>::format;
      const double condition = std::min(std::abs(inner), 200.0);
      const double bound = (4 + 2 * condition) * format.eps() * std::abs(want) +
                           2 * format.min_subnormal() * std::max(1.0, std::abs(wide));
      if (!(std::abs(got - want) <= bound)) {
        UNSCOPED_INFO(x << " gives " << got << ", not " << want);
        ++wrong;
      }
    };
    const double z = 2 * std::sqrt(2 / 3.14159265358979323846) * (wide + 0.044715 * wide * wide * wide);
    check(elementwise::GeluTanh{}(x), wide / (1 + std::exp(-z)), z);
    check(elementwise::GeluErf{}(x), wide / 2 * std::erfc(-wide * root_half), wide < 0 ? wide * wide : 0);
    check(elementwise::Silu{}(x), wide / (1 + std::exp(-wide)), 0);
    check(elementwise::QuickGelu{}(x), wide / (1 + std::exp(-1.702 * wide)), 1.702 * wide);
    wrong += elementwise::Relu{}(x) != std::max(x, 0.0f);
  }
  CHECK(wrong == 0);
}

TEST_CASE("infinities and NaN come out as limits and NaN", "[vector_math]") {
  CHECK(math::exp(inf) == inf);
  CHECK(math::exp(-inf) == 0);
  CHECK(math::exp_of_negative(-inf) == 0);
  CHECK(math::sigmoid(inf) == 1);
  CHECK(math::sigmoid(-inf) == 0);
  CHECK(elementwise::GeluTanh{}(inf) == inf);
  CHECK(elementwise::Silu{}(inf) == inf);
  CHECK(elementwise::Relu{}(-inf) == 0);
  for (const f32 value : {math::exp(not_a_number), math::exp_of_negative(not_a_number),
                          math::sigmoid(not_a_number), math::erfc_of_positive(not_a_number)})
    CHECK(std::isnan(value));
  for (const ActivationFunction activation :
       {ActivationFunction::none, ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf,
        ActivationFunction::quick_gelu, ActivationFunction::silu, ActivationFunction::relu}) {
    std::vector<f32> row(37, not_a_number);
    host::activate_row(activation, row);
    INFO(to_string(activation));
    for (const f32 value : row) CHECK(std::isnan(value));
    CHECK(std::isnan(elementwise::activated(activation, not_a_number)));
  }
}

TEST_CASE("activating a row, or one value, is applying the function", "[vector_math]") {
  std::vector<f32> row;
  for (int i = -50; i <= 50; ++i) row.push_back(static_cast<f32>(i) * 0.173f);
  const auto check = [&](ActivationFunction activation, auto f) {
    auto got = row;
    host::activate_row(activation, got);
    for (std::size_t i = 0; i < row.size(); ++i) {
      CHECK(got[i] == f(row[i]));
      CHECK(elementwise::activated(activation, row[i]) == f(row[i]));
    }
  };
  check(ActivationFunction::none, [](f32 x) { return x; });
  check(ActivationFunction::gelu_tanh, elementwise::GeluTanh{});
  check(ActivationFunction::gelu_erf, elementwise::GeluErf{});
  check(ActivationFunction::quick_gelu, elementwise::QuickGelu{});
  check(ActivationFunction::silu, elementwise::Silu{});
  check(ActivationFunction::relu, elementwise::Relu{});
}

TEST_CASE("the largest value of a row is found wherever it lies, and NaN is passed over", "[vector_math]") {
  CHECK(host::largest_of({}) == -inf);
  for (std::size_t count = 1; count <= 70; ++count) {
    std::vector<f32> row(count, -3);
    CHECK(host::largest_of(row) == -3);
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(count, i);
      row.assign(count, not_a_number);
      CHECK(host::largest_of(row) == -inf);
      row[i] = -2;
      CHECK(host::largest_of(row) == -2);
    }
  }
}
