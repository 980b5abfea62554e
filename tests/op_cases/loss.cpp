// Losses on this translation unit's backend against float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/norm_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/indices_there.hpp>
#include <support/norm_reference.hpp>
#include <support/special_values.hpp>

#include <precast/ops/loss.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Squares have no sign: three roundings each, and those of sums.
std::string error_of_squares(const Tensor<f32>& result, const std::vector<double>& x,
                             const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  const double expected = sum / static_cast<double>(x.size());
  return outside(result, {expected},
                 [&](std::size_t) { return (norm_roundings + 3) * unit<f32> * expected; });
}

/// The mean cross entropy of rows whose target is not negative, and how far from it f32 may be.
struct ExpectedCrossEntropy {
  double value = 0, bound = 0;

  ExpectedCrossEntropy(const std::vector<double>& logits, std::int64_t classes,
                       const std::vector<std::int64_t>& targets) {
    double rows = 0;
    for (std::size_t r = 0; r < targets.size(); ++r) {
      if (targets[r] < 0) continue;
      const auto row = row_of(logits, static_cast<std::int64_t>(r), classes);
      const double most = *std::max_element(row.begin(), row.end());
      double sum = 0, exponents = 0;
      for (const double x : row) sum += std::exp(x - most), exponents += (most - x) * std::exp(x - most);
      const double below = most - row[static_cast<std::size_t>(targets[r])];
      // Rounding of x - max shifts each exponent; 3 ulp of exp and the sum's tree; the logarithm's 2 ulp, the
      // difference, and its own rounding. Terms below e^-86 are 0.
      bound += unit<f32> * (exponents / sum + 6 + norm_roundings + 5 * (std::log(sum) + below)) +
               static_cast<double>(classes) * std::exp(-86.0);
      value += std::log(sum) + below;
      rows += 1;
    }
    value /= rows;
    bound = bound / rows + norm_roundings * unit<f32> * value;
  }
};

template <class T>
std::string error_of_entropy(const Tensor<f32>& result, const HostTensor<T>& logits,
                             const std::vector<std::int64_t>& targets) {
  const ExpectedCrossEntropy expected(wide(logits), logits.columns(), targets);
  return outside(result, {expected.value}, [&](std::size_t) { return expected.bound; });
}

std::vector<std::int64_t> some_targets(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> targets;
  for (std::int64_t r = 0; r < rows; ++r) targets.push_back(r * 7919 % classes);
  return targets;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("mean_squared_error follows its definition and returns f32", "[loss]", NormPolicies) {
  using A = typename TestType::activation;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 5, c.deviation, c.mean),
               y = random_tensor<A>(x.shape(), 6, c.deviation, c.mean);
    const auto run = [&] { return mean_squared_error<TestType>(sent(x), sent(y)); };
    const Tensor<f32> result = run();
    CHECK(result.shape() == Shape{});
    CHECK(error_of_squares(result, wide(x), wide(y)) == "");
    check_repeats(run);
  }
}

TEST_CASE("mean_squared_error takes two dtypes and slices as they come", "[loss]") {
  for (const std::int64_t columns : {5, 72, 2100, 9000}) {
    CAPTURE(columns);
    const auto x = random_tensor<f32>({3, columns + 8}, 1);
    const auto y = random_tensor<bf16>({3, columns}, 2);
    const Tensor<f32> there = sent(x);
    CHECK(error_of_squares(mean_squared_error<Bf16>(as_view(there).columns_between(3, columns), sent(y)),
                           wide(x.view().columns_between(3, columns)), wide(y)) == "");
  }
}

TEST_CASE("mean_squared_error of equal arrays is 0, of none NaN, and of inf as PyTorch's", "[loss]") {
  auto x = random_tensor<f32>({3, 5}, 1);
  CHECK(wide(mean_squared_error<F32>(sent(x), sent(x))) == std::vector<double>{0});
  const Tensor<f32> none(Shape{0, 3});
  CHECK(std::isnan(wide(mean_squared_error<F32>(none, none))[0]));
  auto y = x.clone();
  y.data()[7] = -inf;
  CHECK(wide(mean_squared_error<F32>(sent(x), sent(y))) == std::vector<double>{inf});
  CHECK(std::isnan(wide(mean_squared_error<F32>(sent(y), sent(y)))[0]));
  y.data()[7] = not_a_number;
  CHECK(std::isnan(wide(mean_squared_error<F32>(sent(x), sent(y)))[0]));
}

TEMPLATE_LIST_TEST_CASE("cross_entropy follows its definition and returns f32", "[loss]", NormPolicies) {
  using A = typename TestType::activation;
  for (const RowsCase& c : affordable(rows_cases)) {
    if (c.batch * c.tokens * c.columns == 0) continue;
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto logits = random_tensor<A>({c.batch * c.tokens, c.columns}, 5, c.deviation, c.mean);
    const auto targets = some_targets(logits.rows(), c.columns);
    const auto run = [&] { return cross_entropy<TestType>(sent(logits), targets); };
    const Tensor<f32> result = run();
    CHECK(result.shape() == Shape{});
    CHECK(error_of_entropy(result, logits, targets) == "");
    check_repeats(run);
  }
}

TEST_CASE("cross_entropy of more rows than one launch has targets for", "[loss]") {
  const auto logits = random_tensor<f32>({1100, 7}, 1, 3);
  const auto targets = some_targets(1100, 7);
  CHECK(error_of_entropy(cross_entropy<F32>(sent(logits), targets), logits, targets) == "");
  // A slice of columns, whose targets are 32 bits wide.
  const auto wider = random_tensor<f32>({20, 40}, 2, 3);
  const Tensor<f32> there = sent(wider);
  HostTensor<f32> slice({20, 33});
  for (std::int64_t r = 0; r < 20; ++r)
    for (std::int64_t c = 0; c < 33; ++c) slice.data()[r * 33 + c] = wider.data()[r * 40 + 5 + c];
  const auto wide_targets = some_targets(20, 33);
  const std::vector<std::int32_t> narrow_targets(wide_targets.begin(), wide_targets.end());
  CHECK(error_of_entropy(cross_entropy<F32>(as_view(there).columns_between(5, 33), narrow_targets), slice,
                         wide_targets) == "");
}

TEST_CASE("cross_entropy leaves rows of the ignored index out", "[loss]") {
  auto logits = random_tensor<f32>({6, 10}, 1, 2);
  const std::vector<std::int64_t> targets{3, -100, 9, -100, 0, 3};
  for (std::int64_t c = 0; c < 10; ++c) logits.data()[10 + c] = c % 2 ? not_a_number : inf;
  const auto result = cross_entropy<F32>(sent(logits), targets);
  CHECK(error_of_entropy(result, logits, targets) == "");
  // Another number for the same rows, a class among them.
  const std::vector<std::int32_t> five{3, 5, 9, 5, 0, 3};
  CHECK(same_bits(cross_entropy<F32>(sent(logits), five, {.ignore_index = 5}), result));
  CHECK(std::isnan(wide(cross_entropy<F32>(sent(logits), std::vector<std::int32_t>(6, -100)))[0]));
  CHECK(std::isnan(wide(cross_entropy<F32>(Tensor<f32>(Shape{0, 4}), std::vector<std::int32_t>()))[0]));
}

TEMPLATE_TEST_CASE("cross_entropy reads targets where its kernels do", "[loss]", std::int32_t, std::int64_t) {
  for (const std::int64_t rows : {1, 6, 1100}) {
    CAPTURE(rows);
    const auto logits = random_tensor<f32>({rows, 10}, 1, 2);
    for (const TestType ignored : {TestType{-100}, TestType{3}}) {
      std::vector<TestType> targets;
      for (std::int64_t r = 0; r < rows; ++r)
        targets.push_back(r % 7 == 3 ? ignored : static_cast<TestType>(r * 3 % 10));
      const CrossEntropyOptions options{.ignore_index = ignored};
      const auto of = [&](const std::vector<TestType>& numbers) {
        const IndicesThere<TestType> there(numbers);
        return to_host(cross_entropy<F32>(sent(logits), there.view(), options));
      };
      CHECK(same_bits(of(targets), to_host(cross_entropy<F32>(sent(logits), targets, options))));
      for (const TestType no_class : {-1, 10}) {
        targets.back() = no_class;
        CHECK(std::isnan(of(targets).data()[0]));
      }
    }
  }
  CHECK(std::isnan(wide(cross_entropy<F32>(Tensor<f32>(Shape{0, 4}), Indices<TestType>{}))[0]));
  const auto logits = sent(random_tensor<f32>({2, 4}, 1));
  CHECK_THROWS_WITH(cross_entropy<F32>(logits, Indices<TestType>{nullptr, 2}),
                    Catch::Contains("2 targets at nullptr"));
  CHECK_THROWS_AS(cross_entropy<F32>(logits, Indices<TestType>{nullptr, 3}), ShapeError);
}

TEST_CASE("cross_entropy of one class is 0, and inf and NaN go through it as through PyTorch's", "[loss]") {
  const auto one = sent(random_tensor<f32>({3, 1}, 1, 100));
  CHECK(wide(cross_entropy<F32>(one, std::vector<std::int64_t>{0, 0, 0})) == std::vector<double>{0});
  const auto of = [](const HostTensor<f32>& logits, std::int64_t target) {
    return wide(cross_entropy<F32>(sent(logits), std::vector<std::int64_t>{target}))[0];
  };
  for (const std::int64_t classes : {6, 300, 3000, 9000}) {
    CAPTURE(classes);
    auto logits = random_tensor<f32>({1, classes}, 2);
    logits.data()[4] = -inf;
    CHECK(of(logits, 4) == inf);
    CHECK(std::isfinite(of(logits, 3)));
    logits.data()[2] = inf;
    CHECK(std::isnan(of(logits, 3)));
    CHECK(std::isnan(of(logits, 2)));
    logits.data()[2] = not_a_number;
    CHECK(std::isnan(of(logits, 3)));
    CHECK(std::isnan(of(filled<f32>({1, classes}, -inf), 0)));
  }
}

TEST_CASE("cross_entropy keeps logits that exp cannot hold", "[loss]") {
  auto logits = filled<f32>({2, 5}, 0);
  logits.data()[0] = 1e4f, logits.data()[5] = -3e38f, logits.data()[6] = 3e38f;
  const std::vector<std::int64_t> right{0, 1}, wrong{1, 1};
  CHECK(wide(cross_entropy<F32>(sent(logits), right)) == std::vector<double>{0});
  CHECK(wide(cross_entropy<F32>(sent(logits), wrong)) == std::vector<double>{5000});
}
