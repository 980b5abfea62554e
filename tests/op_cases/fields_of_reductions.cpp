// Reductions and losses: every field of their rows of the op table is what their kernels compute in (as
// fields.cpp has it for products and narrow.cpp for norms), and what Downcast<...> does to them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/field_rows.hpp>
#include <support/arrays.hpp>
#include <support/narrow_reference.hpp>
#include <support/policies.hpp>
#include <support/special_values.hpp>

#include <precast/ops/loss.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/narrow_steps.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct ReducedInputs {
  HostTensor<f32> x = random_tensor<f32>({field_rows, field_columns}, 1, 2, 20),
                  y = random_tensor<f32>({field_rows, field_columns}, 2, 2, 18);
  std::vector<std::int32_t> targets{17, no_target, 600};
};

/// The sum of terms in a row: exact where it is f32 throughout, for the order is the kernel's there.
template <class Types>
double sum_in(const Values& terms) {
  if constexpr (is_narrow<Types>) return narrow_sum_of<typename Types::accumulate>(terms);
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}
template <class Types>
double mean_in(const Values& terms, double count) {
  return kept_in<typename Types::result>(
      kept_in<f32>(step<typename Types::inside>(sum_in<Types>(terms)) / count));
}

template <class Types>
Values reduced_in(const ReducedInputs& in, Reduce reduce) {
  Tensor<typename Types::result> out({field_rows});
  const Tensor<f32> x = sent(in.x);
  backend::reduce_values<Types>(as_view(x), field_columns, reduce, out.view());
  return wide(out);
}
template <class Types>
Values expected_sums_in(const ReducedInputs& in) {
  Values sums;
  for (std::int64_t r = 0; r < field_rows; ++r)
    sums.push_back(kept_in<typename Types::result>(sum_in<Types>(row_of(wide(in.x), r, field_columns))));
  return sums;
}
template <class Types>
Values expected_means_in(const ReducedInputs& in) {
  Values means;
  for (std::int64_t r = 0; r < field_rows; ++r)
    means.push_back(mean_in<Types>(row_of(wide(in.x), r, field_columns), field_columns));
  return means;
}

template <class Types>
Values squared_error_in(const ReducedInputs& in) {
  Tensor<typename Types::result> out{Shape{}};
  const Tensor<f32> x = sent(in.x), y = sent(in.y);
  backend::mean_squared_error<Types>(as_view(x), as_view(y), out.view());
  return wide(out);
}
template <class Types>
Values expected_squared_error_in(const ReducedInputs& in) {
  const Values x = wide(in.x), y = wide(in.y);
  Values squares;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = step<typename Types::inside>(x[i] - y[i]);
    squares.push_back(step<typename Types::inside>(difference * difference));
  }
  return {mean_in<Types>(squares, static_cast<double>(x.size()))};
}

template <class Types>
Values cross_entropy_in(const ReducedInputs& in) {
  Tensor<typename Types::result> out{Shape{}};
  const Tensor<f32> x = sent(in.x);
  backend::cross_entropy<Types>(as_view(x), std::span<const std::int32_t>(in.targets), out.view());
  return wide(out);
}
template <class Types>
Values expected_cross_entropy_in(const ReducedInputs& in) {
  using I = typename Types::inside;
  Values losses;
  double count = 0;
  for (std::int64_t r = 0; r < field_rows; ++r) {
    const std::int32_t target = in.targets[static_cast<std::size_t>(r)];
    losses.push_back(0);
    if (target == no_target) continue;
    const Values row = row_of(wide(in.x), r, field_columns);
    const double largest = *std::max_element(row.begin(), row.end());
    Values terms;
    for (const double x : row) terms.push_back(step<I>(std::exp(step<I>(x - largest))));
    losses.back() = step<I>(step<I>(std::log(sum_in<Types>(terms))) -
                            step<I>(row[static_cast<std::size_t>(target)] - largest));
    count += 1;
  }
  return {mean_in<Types>(losses, count)};
}

}  // namespace

TEST_CASE("sums, intermediates and results of reductions are those of their row", "[fields][reduction]") {
  // A sum has one step, between which and the store there is nothing to keep.
  each_its_own<ReducedInputs, Wide, Sums, Rounded, Both>(
      0, 0, [](auto row, const ReducedInputs& in) { return reduced_in<decltype(row)>(in, Reduce::sum); },
      [](auto row, const ReducedInputs& in) { return expected_sums_in<decltype(row)>(in); });
  CHECK(are(reduced_in<Inside>({}, Reduce::sum), expected_sums_in<Wide>({}), norm_roundings));
  each_its_own<ReducedInputs, Wide, Sums, Inside, Rounded, Both>(
      0, 0, [](auto row, const ReducedInputs& in) { return reduced_in<decltype(row)>(in, Reduce::mean); },
      [](auto row, const ReducedInputs& in) { return expected_means_in<decltype(row)>(in); });
}

TEST_CASE("sums, intermediates and results of losses are those of their row", "[fields][loss]") {
  each_its_own<ReducedInputs, Wide, Sums, Inside, Rounded, Both>(
      0, 0, [](auto row, const ReducedInputs& in) { return squared_error_in<decltype(row)>(in); },
      [](auto row, const ReducedInputs& in) { return expected_squared_error_in<decltype(row)>(in); });
  // The exponential and the logarithm are within some ulp of float64's. One value may be the same in two
  // rows: rounded at its end it stands beside f32's alone.
  const auto run = [](auto row, const ReducedInputs& in) { return cross_entropy_in<decltype(row)>(in); };
  const auto expected = [](auto row, const ReducedInputs& in) {
    return expected_cross_entropy_in<decltype(row)>(in);
  };
  each_its_own<ReducedInputs, Wide, Sums, Inside, Both>(norm_roundings, 0, run, expected);
  each_its_own<ReducedInputs, Wide, Rounded>(norm_roundings, 0, run, expected);
}

TEST_CASE("reductions and losses take operands as given and return f32 under every policy",
          "[fields][reduction][loss]") {
  // 1 + 2^-12 is 1 in bf16 and f16, and so is what it sums to.
  const auto x = sent(filled<f32>({8}, 1 + 1.0 / 4096)), zeros = sent(filled<f32>({8}, 0));
  CHECK(wide(sum<Bf16>(x)) == Values{8 + 8.0 / 4096});
  CHECK(wide(mean<F16>(x)) == Values{1 + 1.0 / 4096});
  const double square = (1 + 1.0 / 4096) * (1 + 1.0 / 4096);
  CHECK(wide(mean_squared_error<Bf16>(x, zeros)) == Values{kept_in<f32>(square)});
  auto logits = filled<f32>({1, 2}, 0);
  logits.data()[0] = 1 + 1.0f / 4096;
  const std::vector<std::int32_t> targets{1};
  CHECK(wide(cross_entropy<Bf16>(sent(logits), targets)) == wide(cross_entropy<F32>(sent(logits), targets)));
}

TEST_CASE("naive f16 reductions and losses overflow where f32's do not", "[reduction][loss]") {
  using NaiveReduction = Policy<Storage<f16>, Downcast<Reduction>>;
  using NaiveLoss = Policy<Storage<f16>, Downcast<Loss>>;
  const auto x = sent(filled<f16>({2, 1200}, 60));
  CHECK(wide(sum<F16>(x, Over::last_axis)) == Values{72000, 72000});
  CHECK(wide(sum<NaiveReduction>(x, Over::last_axis)) == Values{inf, inf});
  CHECK(wide(mean<NaiveReduction>(x)) == Values{inf});
  CHECK(wide(mean<F16>(x)) == Values{60});
  const auto far = sent(filled<f16>({4}, 300)), zeros = sent(filled<f16>({4}, 0));
  CHECK(wide(mean_squared_error<F16>(far, zeros)) == Values{90000});
  CHECK(wide(mean_squared_error<NaiveLoss>(far, zeros)) == Values{inf});
  // 100,000 classes of one logit each: their sum is infinite in f16, and log 100000 in f32.
  const auto logits = sent(filled<f16>({1, 100000}, 0));
  const std::vector<std::int32_t> targets{3};
  CHECK(wide(cross_entropy<NaiveLoss>(logits, targets)) == Values{inf});
  CHECK(std::abs(wide(cross_entropy<F16>(logits, targets))[0] - std::log(1e5)) <= 20 * unit<f32> * 12);
  // Each cast changes the class that it names alone.
  CHECK(same_bits(sum<NaiveLoss>(x), sum<F16>(x)));
  CHECK(same_bits(mean_squared_error<NaiveReduction>(far, zeros), mean_squared_error<F16>(far, zeros)));
}
