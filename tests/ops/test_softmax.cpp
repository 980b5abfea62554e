// Softmax against float64.
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/ops/softmax.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {
using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
constexpr f32 inf = std::numeric_limits<f32>::infinity();
}  // namespace

TEMPLATE_TEST_CASE("softmax follows its definition and returns f32", "[softmax]", F32, Bf16, F16) {
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 2, 31, 64, 1001, 9000}) {
    for (const double scale : {0.01, 1.0, 50.0}) {
      const auto x = random_tensor<A>(Shape{3, columns}, 5, scale, -2 * scale);
      const Tensor<f32> result = softmax<TestType>(x);
      std::vector<double> expected, bounds;
      const auto all = wide(x);
      for (std::int64_t r = 0; r < 3; ++r) {
        const auto* row = all.data() + r * columns;
        const double most = *std::max_element(row, row + columns);
        double sum = 0;
        for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - most);
        for (std::int64_t c = 0; c < columns; ++c) {
          expected.push_back(std::exp(row[c] - most) / sum);
          // Rounding of x - max shifts the exponent; then 3 ulp of exp, the sum's tree and a product. Weights
          // below e^-86 are 0.
          bounds.push_back(expected.back() * unit<f32> * (most - row[c] + 90) + std::exp(-86.0));
        }
      }
      INFO(columns << " columns, scale " << scale);
      CHECK(outside(result, expected, [&](std::size_t i) { return bounds[i]; }) == "");
      CHECK(same_on_any_threads([&] { return softmax<TestType>(x); }));
    }
  }
}

TEST_CASE("softmax of infinities", "[softmax]") {
  const std::vector<f32> values{1, -inf, 2, inf, 0, 1, -inf, -inf, -inf, 3, std::nanf(""), 1};
  const auto result = wide(softmax<F32>(Tensor<f32>(Shape{4, 3}, values)));
  CHECK(result[1] == 0);
  CHECK(result[0] + result[2] == Approx(1));
  for (std::size_t i = 3; i < 12; ++i) {
    if (i / 3 == 1) CHECK((std::isnan(result[i]) || result[i] == 0));
    if (i / 3 > 1) CHECK(std::isnan(result[i]));
  }
  CHECK(std::isnan(result[3]));
  CHECK(softmax<F32>(Tensor<f32>(Shape{0, 3})).elements() == 0);
  CHECK(softmax<F32>(Tensor<f32>(Shape{3, 0})).elements() == 0);
}
