#include <algorithm>
#include <cmath>

#include <experiments/all.hpp>
#include <experiments/each_format.hpp>
#include <sampling/torch_random.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/pointwise.hpp>

namespace precast::experiments {

namespace {

constexpr std::int64_t gradients = 200'000;
constexpr f32 least_power = -12, most_power = 0, scale = 8192;
constexpr int bins_of_a_decade = 8;

/// Magnitudes whose logarithms are spread evenly: as many gradients in each decade as in the others.
Tensor<f32> spread_gradients() {
  sampling::TorchGenerator generator(0);
  Tensor<f32> values = generator.uniform(Shape{gradients}, least_power, most_power);
  for (f32& value : values.values()) value = static_cast<f32>(std::pow(10.0, static_cast<double>(value)));
  return values;
}

template <ScalarDtype T>
void report(Table& table, const std::string& setting, const Tensor<T>& cast) {
  std::int64_t zeros = 0, finite = 0;
  for (const double value : doubles_of(cast)) {
    zeros += value == 0;
    finite += std::isfinite(value);
  }
  table.rows.push_back({setting, name_of<T>(), static_cast<double>(zeros) / gradients,
                        static_cast<double>(finite) / gradients});
}

/// How many gradients of each magnitude are not zero once they are cast.
template <ScalarDtype T>
Line survivors(const std::string& name, const Tensor<f32>& magnitudes, const Tensor<T>& cast) {
  constexpr int bins = static_cast<int>(most_power - least_power) * bins_of_a_decade;
  std::vector<double> counts(bins, 0);
  for (std::size_t i = 0; i < magnitudes.values().size(); ++i) {
    const double power = std::log10(static_cast<double>(magnitudes.values()[i]));
    const int bin = std::clamp(static_cast<int>((power - least_power) * bins_of_a_decade), 0, bins - 1);
    counts[static_cast<std::size_t>(bin)] += to_double(cast.values()[i]) != 0;
  }
  Line line{name, {}, std::move(counts)};
  for (int bin = 0; bin < bins; ++bin)
    line.x.push_back(std::pow(10.0, least_power + (bin + 0.5) / bins_of_a_decade));
  return line;
}

}  // namespace

Experiment underflow() {
  Experiment result{"underflow", "Gradients that f16 flushes to zero", {}, {},
                    {},          "autocast_amp_notebook.md 3.4, 1.2",  {}};
  result.explanation =
      "Of 200,000 gradients between 1e-12 and 1, spread evenly over the powers of ten, f16 rounds every one "
      "below 3e-8 to zero, and bf16 none. Multiplied by a loss scale of 8192 first, most of them are large "
      "enough for f16, and dividing by it afterwards in f32 gives them back.";
  result.table.columns = {"setting", "dtype", "zero_frac", "finite_frac"};
  const Tensor<f32> gradient = spread_gradients();
  const Tensor<f32> scaled = scale_shift<All<f32>>(gradient, {.factor = scale});
  const Tensor<f16> narrow = cast<f16>(gradient), narrow_scaled = cast<f16>(scaled);
  report(result.table, "unscaled", narrow);
  report(result.table, "unscaled", cast<bf16>(gradient));
  report(result.table, "scaled by 8192", narrow_scaled);
  report(result.table, "scaled by 8192", cast<bf16>(scaled));
  constexpr FloatFormat half = dtype_traits<f16>::format, bfloat = dtype_traits<bf16>::format;
  result.plot = {.title = "Gradients that are not zero, by magnitude",
                 .x_name = "|gradient|",
                 .y_name = "gradients",
                 .powers_of_x = true};
  result.plot.lines.push_back(survivors("all", gradient, gradient));
  result.plot.lines.push_back(survivors("bf16", gradient, cast<bf16>(gradient)));
  result.plot.lines.push_back(survivors("f16", gradient, narrow));
  result.plot.lines.push_back(survivors("f16, scaled by 8192", gradient, narrow_scaled));
  result.plot.places = {{"f16: smallest normal", half.min_normal()},
                        {"f16: smallest subnormal", half.min_subnormal()}};
  result.stated = {{"smallest normal number of float16", "6e-5", half.min_normal()},
                   {"smallest subnormal number of float16", "6e-8", half.min_subnormal()},
                   {"smallest normal number of bfloat16", "1e-38", bfloat.min_normal()}};
  return result;
}

}  // namespace precast::experiments
