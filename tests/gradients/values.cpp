// Gradients of activations and gates against float64, and dropout.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/dropout.hpp>
#include <precast/ops/pointwise_gradient.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr ActivationFunction all_activations[] = {
    ActivationFunction::none,       ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf,
    ActivationFunction::quick_gelu, ActivationFunction::silu,      ActivationFunction::relu};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

double activated(ActivationFunction f, double x) {
  switch (f) {
    case ActivationFunction::none:
      return x;
    case ActivationFunction::gelu_tanh:
      return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    case ActivationFunction::gelu_erf:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case ActivationFunction::quick_gelu:
      return x * sigmoid(1.702 * x);
    case ActivationFunction::silu:
      return x * sigmoid(x);
    case ActivationFunction::relu:
      return std::max(x, 0.0);
  }
  return 0;
}
/// Its derivative by differences, whose error is about 1e-12.
double slope(ActivationFunction f, double x) {
  if (f == ActivationFunction::relu) return x > 0;
  return differences({x}, {1}, [f](const Doubles& at) { return Doubles{activated(f, at[0])}; })[0];
}

/// How far a slope in f32 may be from it. It is a sum of two terms: a share of 1, s, that falls as f(x) / x
/// does, and x s'. Their arguments, which are at most 1.6 x (1 + 0.05 x^2) or x^2 / 2, are rounded, and an
/// exponential feels that as a relative error of as many roundings; a dozen more are those of the steps.
double slope_error(ActivationFunction f, double x) {
  if (f == ActivationFunction::none || f == ActivationFunction::relu) return 0;
  const double s = x == 0 ? 0.5 : activated(f, x) / x;
  const double argument = std::abs(x) * (2 + x * x);
  return unit<f32> * (12 + 4 * argument) * (s + std::abs(slope(f, x) - s)) + 1e-11 + unit<f32> * s;
}

/// Values from far below 0 to far above, dense around it.
template <class T>
HostTensor<T> points() {
  auto x = random_tensor<T>({3, 67}, 1, 3);
  const double hard[] = {0, 1e-30, -1e-30, 1e-4, -1e-4, 12, -12, 30, -30, 0.5};
  for (std::size_t i = 0; i < 10; ++i) x.values()[7 * i] = from_double<T>(hard[i]);
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("the gradient of an activation is dy f'(x)", "[pointwise]", F32, Bf16, F16, Bf16InF32) {
  using A = typename training<TestType>::gradient;
  for (const ActivationFunction f : all_activations)
    for (const double scale : {1e-3, 1.0, 100.0}) {
      CAPTURE(to_string(f), scale);
      const auto x = points<A>(), dy = random_tensor<A>(x.shape(), 2, scale);
      const auto at = wide(x), gradient = wide(dy);
      std::vector<double> expected, bounds;
      for (std::size_t i = 0; i < at.size(); ++i) {
        expected.push_back(gradient[i] * slope(f, at[i]));
        bounds.push_back(std::abs(gradient[i]) * slope_error(f, at[i]) + unit<f32> * std::abs(expected[i]));
      }
      const auto run = [&] {
        Tensor<A> out(x.shape());
        activate_gradient_into<TestType>(sent(dy), sent(x), f, out);
        return out;
      };
      CHECK(outside(run(), expected, [&](std::size_t i) { return bounds[i]; }) == "");
      check_repeats(run);
    }
}

TEMPLATE_TEST_CASE("the gradients of a gated product", "[pointwise]", F32, Bf16, F16) {
  using A = typename training<TestType>::gradient;
  for (const ActivationFunction f :
       {ActivationFunction::silu, ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf}) {
    CAPTURE(to_string(f));
    const auto a = points<A>(), b = random_tensor<A>(a.shape(), 2, 2), dy = random_tensor<A>(a.shape(), 3);
    const auto wa = wide(a), wb = wide(b), wy = wide(dy);
    std::vector<double> of_a, of_b, bound_a, bound_b;
    for (std::size_t i = 0; i < wa.size(); ++i) {
      of_a.push_back(wy[i] * wb[i] * slope(f, wa[i]));
      bound_a.push_back(std::abs(wy[i] * wb[i]) * slope_error(f, wa[i]) + 3 * unit<f32> * std::abs(of_a[i]));
      of_b.push_back(wy[i] * activated(f, wa[i]));
      // f is x s: its error is that of s, which is among the slope's.
      bound_b.push_back(std::abs(wy[i] * wa[i]) * slope_error(f, wa[i]) + 3 * unit<f32> * std::abs(of_b[i]));
    }
    const auto product = [&](const Doubles& at_a, const Doubles& at_b) {
      Doubles y;
      for (std::size_t i = 0; i < at_a.size(); ++i) y.push_back(activated(f, at_a[i]) * at_b[i]);
      return y;
    };
    CHECK(apart(of_a, differences(wa, wy, [&](const Doubles& x) { return product(x, wb); })) <= 1);
    CHECK(apart(of_b, differences(wb, wy, [&](const Doubles& x) { return product(wa, x); })) <= 1);
    Tensor<A> da(a.shape()), db(b.shape());
    const auto run = [&] {
      gated_product_gradient_into<TestType>(sent(dy), sent(a), sent(b), f, da, db);
      return da.clone();
    };
    CHECK(outside(run(), of_a, [&](std::size_t i) { return bound_a[i]; }) == "");
    CHECK(outside(db, of_b, [&](std::size_t i) { return bound_b[i]; }) == "");
    check_repeats(run);
  }
}

TEST_CASE("Downcast<Pointwise> keeps what is between the steps of a gradient in f16", "[pointwise]") {
  using Naive = Policy<Storage<f16>, Downcast<Pointwise>, Activation<f32>>;
  using Wide = Policy<Storage<f16>, Activation<f32>>;
  // dy b is 1e5, which f16 does not hold.
  const auto dy = filled<f32>({1, 3}, 1000), a = filled<f32>({1, 3}, -3), b = filled<f32>({1, 3}, 100);
  Tensor<f32> da(a.shape()), db(a.shape());
  gated_product_gradient_into<Naive>(sent(dy), sent(a), sent(b), ActivationFunction::silu, da, db);
  CHECK(std::isinf(wide(da)[0]));
  gated_product_gradient_into<Wide>(sent(dy), sent(a), sent(b), ActivationFunction::silu, da, db);
  CHECK(wide(da)[0] == Approx(1e5 * slope(ActivationFunction::silu, -3)).epsilon(1e-5));
  // A slope that is one of f16's numbers, and not the one in f32.
  activate_gradient_into<Naive>(sent(filled<f32>({1, 3}, 1)), sent(a), ActivationFunction::silu, da);
  CHECK(to_double(convert<f16>(static_cast<f32>(wide(da)[0]))) == wide(da)[0]);
  CHECK(wide(da)[0] == Approx(slope(ActivationFunction::silu, -3)).epsilon(0.02));
  activate_gradient_into<Wide>(sent(filled<f32>({1, 3}, 1)), sent(a), ActivationFunction::silu, db);
  CHECK(wide(da)[0] != wide(db)[0]);
}

TEST_CASE("far from 0 an activation's slope in f16 is 1 or 0, whatever its steps overflow to",
          "[pointwise]") {
  using Naive = Policy<Storage<f16>, Downcast<Pointwise>, Activation<f32>>;
  for (const ActivationFunction f : all_activations) {
    if (f == ActivationFunction::none) continue;
    for (const double x : {70.0, 300.0, 60000.0}) {
      CAPTURE(to_string(f), x);
      const auto at = filled<f32>({1, 3}, x), below = filled<f32>({1, 3}, -x), dy = filled<f32>({1, 3}, 1);
      Tensor<f32> dx(at.shape());
      activate_gradient_into<Naive>(sent(dy), sent(at), f, dx);
      CHECK(wide(dx) == std::vector<double>(3, 1.0));
      activate_gradient_into<Naive>(sent(dy), sent(below), f, dx);
      CHECK(wide(dx) == std::vector<double>(3, 0.0));
    }
  }
}

TEST_CASE("Philox gives the words of its authors' known answers", "[dropout]") {
  const auto words = [](std::uint64_t low, std::uint64_t high, std::uint64_t key) {
    const PhiloxWords made = philox(low, high, key);
    return std::vector<std::uint32_t>(made.words, made.words + 4);
  };
  CHECK(words(0, 0, 0) == std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(words(~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}) ==
        std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822) ==
        std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEMPLATE_TEST_CASE("dropout drops by seed, offset and place alone", "[dropout]", F32, Bf16, F16) {
  using A = typename training<TestType>::gradient;
  const auto x = filled<A>({7, 301}, 1.5);
  const DropoutOptions options{.probability = 0.25f, .seed = 42, .offset = 7};
  const auto run = [&] {
    Tensor<A> out(x.shape());
    dropout_into<TestType>(sent(x), options, out);
    return out;
  };
  const auto y = wide(run());
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const PhiloxWords words = philox(i / 4, 7, 42);
    const bool goes = words.words[i % 4] < 0x40000000u;
    REQUIRE(y[i] == (goes ? 0.0 : 2.0));
    dropped += goes;
  }
  // A binomial number: within five deviations.
  const double n = static_cast<double>(y.size());
  CHECK(std::abs(static_cast<double>(dropped) - n / 4) < 5 * std::sqrt(n * 3 / 16));
  check_repeats(run);
  // The same values as a slice of wider rows.
  HostTensor<A> wider(Shape{7, 310});
  for (std::int64_t i = 0; i < wider.elements(); ++i) wider.data()[i] = from_double<A>(1.5);
  const Tensor<A> there = sent(wider);
  Tensor<A> of_slice(x.shape()), other(x.shape());
  dropout_into<TestType>(there.view().columns_between(4, 301), options, of_slice);
  CHECK(wide(of_slice) == y);
  dropout_into<TestType>(sent(x), DropoutOptions{.probability = 0.25f, .seed = 42, .offset = 8}, other);
  CHECK(wide(other) != y);
  CHECK_THROWS_AS(dropout_into<TestType>(sent(x), DropoutOptions{.probability = 1.0f}, other), InputError);
}

TEST_CASE("the gradient of dropout is dropout of what comes in, and follows finite differences",
          "[dropout]") {
  const DropoutOptions options{.probability = 0.25f, .seed = 42, .offset = 7};
  const auto x = random_tensor<f32>({3, 23}, 1), dy = random_tensor<f32>(x.shape(), 2);
  Tensor<f32> dx(x.shape());
  dropout_into<F32>(sent(dy), options, dx);
  const Doubles expected = differences(wide(x), wide(dy), [&](const Doubles& at) {
    Doubles kept;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool goes = philox(i / 4, options.offset, options.seed).words[i % 4] < 0x40000000u;
      kept.push_back(goes ? 0 : at[i] / 0.75);
    }
    return kept;
  });
  // 1 / 0.75 is rounded, and the product with it.
  CHECK(outside(dx, expected, [&](std::size_t i) { return unit<f32> * std::abs(expected[i]) * 2 + 1e-9; }) ==
        "");
}
