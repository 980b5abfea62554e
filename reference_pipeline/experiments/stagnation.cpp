#include <experiments/all.hpp>
#include <experiments/each_format.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/pointwise.hpp>

namespace precast::experiments {

namespace {

constexpr int steps = 2000, shown_every = 20;
constexpr double start = 1, update = 1e-5;

/// Applies the update `steps` times to a weight stored in Weight; a model computes with its value in Used.
template <ScalarDtype Weight, ScalarDtype Used>
void updated(Experiment& result, const std::string& name) {
  Tensor<Weight> weight = tensor_of<Weight>(start);
  const Tensor<Weight> change = tensor_of<Weight>(-update);
  double before = start;
  int moved = 0;
  Line line{name, {0}, {start}};
  for (int i = 1; i <= steps; ++i) {
    weight = add<All<Weight>>(weight, change);
    const double used = doubles_of(cast<Used>(weight))[0];
    moved += used != before;
    before = used;
    if (i % shown_every) continue;
    line.x.push_back(i);
    line.y.push_back(used);
  }
  result.table.rows.push_back({name, start, update, static_cast<double>(steps), static_cast<double>(moved),
                               before, dtype_traits<Used>::format.ulp(start)});
  result.plot.lines.push_back(std::move(line));
}

}  // namespace

Experiment stagnation() {
  Experiment result{"stagnation", "A weight that does not move",  {}, {},
                    {},           "autocast_amp_notebook.md 3.5", {}};
  result.explanation =
      "An update that is smaller than half the spacing of its weight's format is rounded away, every time: "
      "2,000 updates of 0.00001 leave a weight of 1 where it was in f16 and in bf16. A master weight in f32 "
      "takes them all, and the 16-bit copy that the model computes with follows it in steps of its own "
      "spacing.";
  result.table.columns = {"weight",  "w0",        "delta", "steps", "num_steps_where_w_changed",
                          "final_w", "ulp_at_one"};
  result.plot = {.title = "The weight after each update", .x_name = "updates", .y_name = "weight"};
  for_each_format([&]<class T>() { updated<T, T>(result, name_of<T>()); });
  updated<f32, f16>(result, "f16 copy of an f32 master");
  updated<f32, bf16>(result, "bf16 copy of an f32 master");
  constexpr auto ulp = []<class T>(T) { return dtype_traits<T>::format.ulp(1.0); };
  result.stated = {{"spacing of float16 at 1", "9.8e-4", ulp(f16{})},
                   {"spacing of float16 at 1", "0.0009765625", ulp(f16{})},
                   {"spacing of bfloat16 at 1", "0.0078125", ulp(bf16{})},
                   {"spacing of float32 at 1", "1.19e-07", ulp(f32{})},
                   {"spacing of float16 at 1024", "1", dtype_traits<f16>::format.ulp(1024)}};
  return result;
}

}  // namespace precast::experiments
