#include <experiments/all.hpp>
#include <experiments/each_format.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/pointwise.hpp>

namespace precast::experiments {

namespace {

constexpr int additions = 1000, shown_every = 10;
constexpr double addend = 0.01;

/// A sum that starts at 0 and takes `term` a thousand times; each result is rounded to Sum.
template <ScalarDtype Sum, ScalarDtype Term>
double added_up(Experiment& result, const std::string& name, const Tensor<Term>& term) {
  Tensor<Sum> sum = tensor_of<Sum>(0.0);
  Line line{name, {}, {}};
  for (int i = 1; i <= additions; ++i) {
    sum = add<All<Sum>>(sum, term);
    if (i % shown_every) continue;
    line.x.push_back(i);
    line.y.push_back(doubles_of(sum)[0] - addend * i);
  }
  const double total = doubles_of(sum)[0];
  result.table.rows.push_back({name, name_of<Sum>(), name_of<Term>(), total, total - addend * additions});
  result.plot.lines.push_back(std::move(line));
  return total;
}

}  // namespace

Experiment accumulation() {
  Experiment result{"accumulation", "A thousand times 0.01", {}, {}, {}, "lm_benchmark_report.md", {}};
  result.explanation =
      "A sum in f16 rounds every addend to its own spacing, which is 0.0039 above 4 and 0.0078 above 8: "
      "there 0.01 counts as 0.0117, and then as 0.0078. Summing in f32 cures that, but not the addend, "
      "which is 0.010002 once it has been f16 and stays so however it is widened afterwards.";
  result.table.columns = {"sum", "sum_dtype", "addend_dtype", "total", "error"};
  result.plot = {.title = "Distance of the running sum from the exact one",
                 .x_name = "additions",
                 .y_name = "sum - exact sum"};
  const Tensor<f16> narrow = tensor_of<f16>(addend);
  const double in_f32 = added_up<f32>(result, "f32", tensor_of<f32>(addend));
  const double in_f16 = added_up<f16>(result, "f16", narrow);
  const double mixed = added_up<f32>(result, "f32 adding f16", narrow);
  const double widened = added_up<f32>(result, "f32 adding f16 widened first", cast<f32>(narrow));
  result.stated = {{"float32", "10.0001", in_f32},
                   {"float16", "9.9531", in_f16},
                   {"float32 adding float16", "10.0021", mixed},
                   {"float32 adding float16 manually upcast", "10.0021", widened}};
  return result;
}

}  // namespace precast::experiments
