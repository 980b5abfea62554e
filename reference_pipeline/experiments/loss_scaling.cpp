#include <algorithm>
#include <cmath>
#include <limits>

#include <experiments/all.hpp>
#include <experiments/small_network.hpp>

namespace precast::experiments {

namespace {

constexpr double source_scale = 8192;
constexpr int largest_power = 28;

double median(std::vector<double> magnitudes) {
  // As torch.median: for an even count, the lower of the two middle values.
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>((magnitudes.size() - 1) / 2);
  std::ranges::nth_element(magnitudes, middle);
  return *middle;
}

double fraction_of(const std::vector<double>& values, bool (*is)(double)) {
  return static_cast<double>(std::ranges::count_if(values, is)) / static_cast<double>(values.size());
}
bool is_zero(double value) { return value == 0; }
bool is_not_finite(double value) { return !std::isfinite(value); }

}  // namespace

Experiment loss_scaling() {
  Experiment result{"loss-scaling",
                    "A backward pass in f16, with and without a loss scale",
                    {},
                    {},
                    {},
                    "autocast_amp_notebook.md 3.4.1, 2.7",
                    {}};
  result.explanation =
      "A network of two layers in f16 with small inputs loses gradients on the way back, because products of "
      "small numbers fall below 6e-8; multiplying the loss by 8192 lifts all of them over that, and dividing "
      "in f32 gives them back. Divided in f16, as the source's demonstration does, the smallest are flushed "
      "after all, and a scale that is too large makes infinities, for which GradScaler skips the step and "
      "halves the scale.";
  result.table.columns = {"setting", "loss", "zero_grad_frac", "median|grad|", "not_finite_frac"};
  result.plot = {.title = "Gradients that are lost, by loss scale",
                 .x_name = "loss scale",
                 .y_name = "fraction of all gradients",
                 .powers_of_x = true};
  const SmallNetwork network;
  const auto row = [&](const std::string& setting, const Gradients& found) {
    result.table.rows.push_back({setting, found.loss, fraction_of(found.magnitudes, &is_zero),
                                 median(found.magnitudes), fraction_of(found.magnitudes, &is_not_finite)});
  };
  row("fp16 no scaling", network.backward_in_f16(1, Unscaled::in_f16));
  row("fp16 scaled+unscaled", network.backward_in_f16(source_scale, Unscaled::in_f16));
  row("fp16 scaled, unscaled in f32", network.backward_in_f16(source_scale, Unscaled::in_f32));
  const Gradients exact = network.backward_in_f32();
  row("f32", exact);
  const double unused = fraction_of(exact.magnitudes, &is_zero);
  Line zero{"flushed to zero", {}, {}}, zero_16{"flushed where unscaled in f16", {}, {}},
      infinite{"not finite", {}, {}};
  for (int power = 0; power <= largest_power; power += 2) {
    const double scale = std::ldexp(1.0, power);
    const Gradients found = network.backward_in_f16(scale, Unscaled::in_f32),
                    narrow = network.backward_in_f16(scale, Unscaled::in_f16);
    for (Line* line : {&zero, &zero_16, &infinite}) line->x.push_back(scale);
    zero.y.push_back(std::max(0.0, fraction_of(found.magnitudes, &is_zero) - unused));
    zero_16.y.push_back(std::max(0.0, fraction_of(narrow.magnitudes, &is_zero) - unused));
    infinite.y.push_back(fraction_of(found.magnitudes, &is_not_finite));
  }
  result.plot.lines = {std::move(zero), std::move(zero_16), std::move(infinite)};
  result.plot.places = {{"2^13, as the source has it", source_scale}};
  return result;
}

}  // namespace precast::experiments
