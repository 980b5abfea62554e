// Residual connections: what several readers of a value say of its gradient comes together, against finite
// differences in float64.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <language_model/layers.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("gradients of residual connections follow finite differences", "[training]") {
  const auto x = random_tensor<f32>({1, 3, 7}, 1), dy = random_tensor<f32>(x.shape(), 2);
  train::Tape tape;
  const language_model::Layers<F32> layers(&tape);
  const auto in = train::variable(sent(x));
  const auto middle = layers.sum(in, layers.activate<elementwise::GeluTanh>(in));
  const auto out = layers.sum(middle, layers.swiglu(middle, in));
  out->gradient = sent(dy);
  tape.backward();
  double largest = 0;  // of what an activation is given
  const Doubles expected = differences(wide(x), wide(dy), [&](const Doubles& at) {
    Doubles y;
    for (const double value : at) {
      const double gelu =
          value / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
      const double sum = value + gelu;
      largest = std::max(largest, std::abs(sum));
      y.push_back(sum + sum / (1 + std::exp(-sum)) * value);
    }
    return y;
  });
  // As in tests/gradients/values.cpp: an activation and its slope are off by a dozen roundings and four of
  // each argument, and here are four, each of which goes into a sum.
  const double roundings = 4 * (12 + 4 * largest * (2 + largest * largest));
  CHECK(distance(wide(*in->gradient), expected) <= (roundings * unit<f32> + 1e-9) * length(expected));
}
