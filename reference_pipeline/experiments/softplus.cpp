#include <algorithm>
#include <cmath>
#include <limits>

#include <experiments/all.hpp>
#include <experiments/steps.hpp>

namespace precast::experiments {

namespace {

constexpr int points = 2000, shown_every = 10;

double exact(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

/// The errors of a formula at each x; infinity where its value is not finite.
template <ScalarDtype T>
std::vector<double> errors(const Tensor<T>& values, const std::vector<double>& x) {
  std::vector<double> all;
  const std::vector<double> computed = doubles_of(values);
  for (std::size_t i = 0; i < x.size(); ++i)
    all.push_back(std::isfinite(computed[i]) ? std::fabs(computed[i] - static_cast<f32>(exact(x[i])))
                                             : std::numeric_limits<double>::infinity());
  return all;
}

double largest_finite(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

Line line_of(const std::string& name, const std::vector<double>& x, const std::vector<double>& errors) {
  constexpr double least = 1e-12;  // the source adds as much, so that no error has a logarithm too
  Line line{name, {}, {}};
  for (std::size_t i = 0; i < x.size(); i += shown_every) {
    line.x.push_back(x[i]);
    line.y.push_back(errors[i] + least);
  }
  return line;
}

}  // namespace

Experiment softplus() {
  Experiment result{"softplus", "log(1 + e^x), as it is written and as it should be",
                    {},         {},
                    {},         "autocast_amp_notebook.md 1.3.1",
                    {}};
  result.explanation =
      "Written as log(1 + e^x), softplus is infinite as soon as e^x is, which f16 reaches at x = 11.1, "
      "although its value there is hardly more than x itself. As max(x, 0) + log(1 + e^-|x|) it takes the "
      "exponential of negative numbers alone, and its error is what rounding to the format leaves.";
  result.table.columns = {"dtype", "naive_finite_up_to", "naive_not_finite", "naive_largest_error",
                          "stable_largest_error"};
  result.plot = {.title = "Error against float64 rounded to f32; crosses are not finite",
                 .x_name = "x",
                 .y_name = "|error|",
                 .powers_of_y = true};
  const std::vector<double> x = even_steps(-80, 80, points);
  for_each_format([&]<class T>() {
    const Tensor<T> in = tensor_of<T>(x);
    const auto naive = errors(each(each(in, Exponential{}), LogOnePlus{}), x);
    const auto stable = errors(each(in, StableSoftplus{}), x);
    double last_finite = x.front();
    double broken = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(naive[i]))
        last_finite = x[i];
      else
        ++broken;
    }
    result.table.rows.push_back(
        {name_of<T>(), last_finite, broken, largest_finite(naive), largest_finite(stable)});
    result.plot.lines.push_back(line_of(name_of<T>() + " as written", x, naive));
    result.plot.lines.push_back(line_of(name_of<T>() + " stable", x, stable));
  });
  return result;
}

}  // namespace precast::experiments
