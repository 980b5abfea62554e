// Sums and means on this translation unit's backend against float64.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/norm_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/norm_reference.hpp>
#include <support/special_values.hpp>

#include <precast/ops/reduction.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// What groups of `length` values sum to, and how far from it a sum in f32 may be. The kernels add at most 69
/// values in a row of sums (the host; 40 on a device), then trees of them, as those of norms do.
struct ExpectedSums {
  std::vector<double> sums, means, sum_bounds, mean_bounds;

  ExpectedSums(const std::vector<double>& all, std::int64_t groups, std::int64_t length) {
    const auto n = static_cast<double>(length);
    for (std::int64_t g = 0; g < groups; ++g) {
      double sum = 0, magnitudes = 0;
      for (const double x : row_of(all, g, length)) sum += x, magnitudes += std::abs(x);
      sums.push_back(sum);
      means.push_back(length ? sum / n : std::numeric_limits<double>::quiet_NaN());
      sum_bounds.push_back(norm_roundings * unit<f32> * magnitudes);
      mean_bounds.push_back(length ? sum_bounds.back() / n : 0);
    }
  }
  static auto bound(const std::vector<double>& bounds) {
    return [&bounds](std::size_t i) { return bounds[i]; };
  }
};

/// Holds sums and means of x, whose values are `all`, against float64.
template <class P, class X>
void check_sums(const X& x, const std::vector<double>& all, Over over) {
  const Shape shape = x.shape();
  const std::int64_t length = over == Over::all ? shape.elements() : shape.back();
  const Tensor<f32> sums = sum<P>(x, over), means = mean<P>(x, over);
  const Shape left = over == Over::all ? Shape{} : Shape(shape.sizes().first(shape.rank() - 1));
  CHECK(sums.shape() == left);
  CHECK(means.shape() == left);
  const ExpectedSums expected(all, left.elements(), length);
  CHECK(outside(sums, expected.sums, ExpectedSums::bound(expected.sum_bounds)) == "");
  CHECK(outside(means, expected.means, ExpectedSums::bound(expected.mean_bounds)) == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("sums and means follow their definition and return f32", "[reduction]",
                        NormPolicies) {
  using A = typename TestType::activation;
  for (const RowsCase& c : affordable(rows_cases)) {
    CAPTURE(c.batch, c.tokens, c.columns, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.batch, c.tokens, c.columns}, 5, c.deviation, c.mean);
    const Tensor<A> there = sent(x);
    check_sums<TestType>(there, wide(x), Over::last_axis);
    check_sums<TestType>(there, wide(x), Over::all);
    check_repeats([&] { return sum<TestType>(sent(x), Over::last_axis); });
    check_repeats([&] { return mean<TestType>(sent(x)); });
  }
}

TEMPLATE_LIST_TEST_CASE("sums of a slice of columns are those of its values", "[reduction]", PlainPolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t columns : {5, 72, 2100, 9000}) {
    CAPTURE(columns);
    const auto x = random_tensor<A>({3, columns + 8}, 2, 1, 0.5);
    const auto slice = x.view().columns_between(3, columns);
    const Tensor<A> there = sent(x);
    const auto part = as_view(there).columns_between(3, columns);
    for (const Over over : {Over::last_axis, Over::all}) check_sums<TestType>(part, wide(slice), over);
    // Into places that lie apart.
    Tensor<f32> out = sent(filled<f32>({3, 2}, -1));
    const auto matrix = part.reshaped({3, 1, columns});
    sum_into<TestType>(matrix, Over::last_axis, out.view().columns_between(1, 1));
    const auto sums = wide(sum<TestType>(part, Over::last_axis)), apart = wide(out);
    for (std::size_t r = 0; r < 3; ++r) {
      CHECK(apart[2 * r] == -1);
      CHECK(apart[2 * r + 1] == sums[r]);
    }
  }
}

TEST_CASE("the error of a sum does not grow with the number of values", "[reduction]") {
  // One after another in f32, the host's would come to 2,097,152: there, 0.1 is half a unit of the last
  // place.
  const std::int64_t values = emulated ? 300'001 : 30'000'001;
  const auto x = filled<f32>({values}, 0.1);
  const auto n = static_cast<double>(values);
  const double each = to_double(x.data()[0]);
  CHECK(std::abs(wide(sum<F32>(sent(x)))[0] - n * each) <= norm_roundings * unit<f32> * n * each);
  CHECK(std::abs(wide(mean<F32>(sent(x)))[0] - each) <= norm_roundings * unit<f32> * each);
}

TEST_CASE("sums of no values are 0, and means NaN", "[reduction]") {
  const Tensor<f32> none(Shape{0, 3}), rows(Shape{2, 0});
  CHECK(wide(sum<F32>(none)) == std::vector<double>{0});
  CHECK(std::isnan(wide(mean<F32>(none))[0]));
  CHECK(sum<F32>(none, Over::last_axis).shape() == Shape{0});
  CHECK(wide(sum<F32>(rows, Over::last_axis)) == std::vector<double>{0, 0});
  for (const double value : wide(mean<F32>(rows, Over::last_axis))) CHECK(std::isnan(value));
  const Tensor<f32> single = sent(filled<f32>(Shape{}, 2.5));
  for (const Over over : {Over::all, Over::last_axis}) {
    CHECK(sum<F32>(single, over).shape() == Shape{});
    CHECK(wide(sum<F32>(single, over)) == std::vector<double>{2.5});
    CHECK(wide(mean<F32>(single, over)) == std::vector<double>{2.5});
  }
}

TEST_CASE("inf and NaN go through sums", "[reduction]") {
  for (const std::int64_t columns : {4, 300, 9000}) {
    CAPTURE(columns);
    auto x = filled<f32>({4, columns}, 1);
    x.data()[2] = inf;
    x.data()[2 * columns - 1] = -inf;
    x.data()[2 * columns] = inf;
    x.data()[2 * columns + 1] = -inf;
    x.data()[4 * columns - 1] = not_a_number;
    const auto sums = wide(sum<F32>(sent(x), Over::last_axis)),
               means = wide(mean<F32>(sent(x), Over::last_axis));
    for (const auto& values : {sums, means}) {
      CHECK(values[0] == inf);
      CHECK(values[1] == -inf);
      CHECK(std::isnan(values[2]));
      CHECK(std::isnan(values[3]));
    }
    CHECK(std::isnan(wide(sum<F32>(sent(x)))[0]));
  }
}

TEST_CASE("a sum of f16 values is f32's, and one above its range is its largest number where stores saturate",
          "[reduction]") {
  const auto x = sent(filled<f16>({3, 2000}, 60000));
  CHECK(wide(sum<F16>(x, Over::last_axis)) == std::vector<double>(3, 1.2e8));
  CHECK(wide(mean<F16>(x)) == std::vector<double>{60000});
  const auto huge = sent(filled<f32>({2, 3}, 3e38));
  CHECK(wide(sum<F16>(huge)) == std::vector<double>{inf});
  CHECK(wide(sum<F16Saturate>(huge)) == std::vector<double>{std::numeric_limits<f32>::max()});
}
