// Softmax on this translation unit's backend against float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/norm_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/special_values.hpp>

#include <precast/ops/softmax.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct ExpectedSoftmax {
  std::vector<double> values, bounds;

  ExpectedSoftmax(const std::vector<double>& all, std::int64_t columns) {
    const std::int64_t rows = columns ? static_cast<std::int64_t>(all.size()) / columns : 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* const row = all.data() + r * columns;
      const double most = *std::max_element(row, row + columns);
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - most);
      for (std::int64_t c = 0; c < columns; ++c) {
        values.push_back(std::exp(row[c] - most) / sum);
        // Rounding of x - max shifts the exponent; then 3 ulp of exp, the sum's tree and a product. Weights
        // below e^-86 are 0.
        const double roundings = values.back() > 0 ? unit<f32> * (most - row[c] + 90) : 0;
        bounds.push_back(values.back() * roundings + std::exp(-86.0));
      }
    }
  }
  auto bound() const {
    return [this](std::size_t i) { return bounds[i]; };
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("softmax follows its definition and returns f32", "[softmax]", NormPolicies) {
  using A = typename TestType::activation;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 5, c.deviation, c.mean);
    const auto run = [&] { return softmax<TestType>(sent(x)); };
    const Tensor<f32> result = run();
    const ExpectedSoftmax expected(wide(x), c.columns);
    CHECK(outside(result, expected.values, expected.bound()) == "");
    check_repeats(run);
  }
}

TEST_CASE("a row of softmax that holds inf or NaN, or -inf alone, is NaN", "[softmax]") {
  for (const std::int64_t columns : {6, 300, 3000, 9000}) {
    auto x = random_tensor<f32>({6, columns}, 1);
    x.data()[columns + 3] = inf;
    x.data()[2 * columns] = std::numeric_limits<f32>::quiet_NaN();
    x.data()[4 * columns - 1] = -inf;  // one weight of 0
    for (std::int64_t c = 0; c < columns; ++c) x.data()[4 * columns + c] = -inf;
    for (std::int64_t c = 0; c < columns; ++c) x.data()[5 * columns + c] = 0;
    CAPTURE(columns);
    const ExpectedSoftmax expected(wide(x), columns);
    CHECK(outside(softmax<F32>(sent(x)), expected.values, expected.bound()) == "");
  }
}
