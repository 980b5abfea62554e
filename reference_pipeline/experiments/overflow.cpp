#include <cmath>
#include <limits>

#include <experiments/all.hpp>
#include <experiments/products.hpp>
#include <experiments/steps.hpp>
#include <plots/cells.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/reduction.hpp>

namespace precast::experiments {

namespace {

constexpr int points = 400;
/// A group of a group norm in a VAE's last block, 160 x 256 pixels of 4 channels, of mean 3.
constexpr std::int64_t group = std::int64_t{160} * 256 * 4;
constexpr f32 mean_of_group = 3;

/// e^x over the source's range, and the largest x at which the format holds it.
template <ScalarDtype T>
void exponentials(Experiment& result) {
  const std::vector<double> x = even_steps(-20, 20, points);
  const std::vector<double> y = doubles_of(each(tensor_of<T>(x), Exponential{}));
  double last = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(y[i])) last = x[i];
  Line line{name_of<T>(), {}, {}};
  for (std::size_t i = 0; i < x.size(); i += 4) line.x.push_back(x[i]), line.y.push_back(y[i]);
  result.plot.lines.push_back(std::move(line));
  result.table.rows.push_back(
      {"e^x for x from -20 to 20", name_of<T>(), "last finite at x = " + plots::cell_text(last), y.back()});
}

template <ScalarDtype T>
void group_sum(Experiment& result) {
  Tensor<f32> values(Shape{group});
  for (f32& value : values.values()) value = mean_of_group;
  const double total = doubles_of(cast<T>(sum<All<f32>>(cast<T>(values))))[0];
  result.table.rows.push_back(
      {"the sum of 163,840 values of 3", name_of<T>(), "stored in " + name_of<T>(), total});
}

}  // namespace

Experiment overflow() {
  Experiment result{"overflow", "Values that leave a format's range",
                    {},         {},
                    {},         "autocast_amp_notebook.md 1.3, precision_strategies.md",
                    {}};
  result.explanation =
      "f16 ends at 65504, which e^x passes at x = 11.09, a score of 64 products of 32 and 32, and the sum of "
      "one group of a group norm; what is stored there is infinite, as a mean by it is, and a softmax of it "
      "is NaN. bf16 and f32 reach to 3e38, and attention in f16 survives where its scores are kept in f32, "
      "by Upcast<Attention> or Flash.";
  result.table.columns = {"what", "dtype", "how", "result"};
  result.plot = {.title = "e^x in each format; crosses are infinite",
                 .x_name = "x",
                 .y_name = "e^x",
                 .powers_of_y = true};
  for_each_format([&]<class T>() { exponentials<T>(result); });
  for_each_format([&]<class T>() { group_sum<T>(result); });
  for (const AttendedRow& row : attended_rows(64, 32))
    result.table.rows.push_back({"attention whose score is 65,536", row.scores, row.policy, row.result});
  result.stated = {{"largest number of float16", "65504", dtype_traits<f16>::format.max()},
                   {"smallest normal number of float16", "6e-5", dtype_traits<f16>::format.min_normal()},
                   {"largest number of bfloat16", "3e38", dtype_traits<bf16>::format.max()}};
  return result;
}

}  // namespace precast::experiments
