#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <experiments/all.hpp>
#include <experiments/steps.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/softmax.hpp>

namespace precast::experiments {

namespace {

using Logits = std::array<double, 4>;

/// Softmax in double, with the largest logit subtracted.
Logits exact(const Logits& logits) {
  const double largest = *std::ranges::max_element(logits);
  Logits terms{};
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) sum += terms[i] = std::exp(logits[i] - largest);
  for (double& term : terms) term /= sum;
  return terms;
}

/// e^x over the sum of all e^x, each step rounded to T.
template <ScalarDtype T>
std::vector<double> naive(const Tensor<T>& logits) {
  const Tensor<T> terms = each(logits, Exponential{});
  const Tensor<T> total = cast<T>(sum<All<T>>(terms));
  return doubles_of(each(terms, DividedBy{convert<f32>(total.values()[0])}));
}

template <ScalarDtype T>
std::vector<double> stable(const Tensor<T>& logits) {
  return doubles_of(cast<T>(precast::softmax<All<T>>(logits)));
}

bool finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// The largest distance from the exact softmax; infinity where a value is not finite.
double error(const std::vector<double>& values, const Logits& right) {
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::fabs(values[i] - right[i]));
  }
  return largest;
}

/// Plots the errors of both formulas for logits like the source's, from small to large.
template <ScalarDtype T>
void plot_errors(Plot& plot) {
  constexpr double least = 1e-12;  // so that an error of 0 can be shown on a logarithmic scale
  Line with_naive{name_of<T>() + " as written", {}, {}}, with_stable{name_of<T>() + " shifted", {}, {}};
  for (int largest = 2; largest <= 100; largest += 2) {
    const Logits logits{0, 0.25 * largest, 0.5 * largest, 1.0 * largest};
    const Tensor<T> x = tensor_of<T>(logits);
    const Logits right = exact(logits);
    for (Line* line : {&with_naive, &with_stable}) line->x.push_back(largest);
    with_naive.y.push_back(std::max(least, error(naive(x), right)));
    with_stable.y.push_back(std::max(least, error(stable(x), right)));
  }
  plot.lines.push_back(std::move(with_naive));
  plot.lines.push_back(std::move(with_stable));
}

}  // namespace

Experiment softmax_in_16_bits() {
  Experiment result{"softmax", "The overflow in softmax, and the shift that cures it",
                    {},        {},
                    {},        "autocast_amp_notebook.md 1.3.2",
                    {}};
  result.explanation =
      "Computed as it is defined, softmax needs e^x, which f16 cannot hold above x = 11.09, nor bf16 and f32 "
      "above 88.72: infinity over infinity is NaN. With the largest logit subtracted from all of them first, "
      "every term is at most 1, and no format overflows.";
  result.table.columns = {"dtype", "naive_finite", "stable_finite", "max_abs_err(stable vs ref)"};
  result.plot = {"Largest error for logits 0, L/4, L/2 and L; crosses are not finite",
                 "L, the largest logit",
                 "largest |error|",
                 false,
                 true,
                 {}};
  constexpr Logits logits{0, 20, 40, 80};
  Logits right = exact(logits);
  for (double& value : right) value = static_cast<f32>(value);  // as the source has its reference
  for_each_format([&]<class T>() {
    const Tensor<T> x = tensor_of<T>(logits);
    result.table.rows.push_back({name_of<T>(), finite(naive(x)), finite(stable(x)), error(stable(x), right)});
    plot_errors<T>(result.plot);
  });
  return result;
}

}  // namespace precast::experiments
