#include <algorithm>
#include <cmath>
#include <optional>

#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <cli/pages/svg.hpp>
#include <cli/terminal/format.hpp>
#include <cli/train/train_report.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

using language_model::GradientHistogram;
using language_model::StepFacts;

constexpr double left = 64, top = 48, width = 1000, height = 280;

/// A plot of a value by step, one line per run, with crosses where the value is not finite.
template <class Number>
std::string plot_of_steps(std::span<const TrainedRun> runs, const std::string& name, Number&& number) {
  plots::Plot plot;
  plot.title = name + " by step";
  plot.x_name = "step";
  plot.y_name = name;
  plot.powers_of_y = true;
  for (const TrainedRun& run : runs) {
    plots::Line line{run.policy, {}, {}};
    bool was_finite = true;
    for (const StepFacts& step : run.steps) {
      const std::optional<double> value = number(step);
      if (!value) continue;
      const bool is_finite = std::isfinite(*value);
      line.x.push_back(static_cast<double>(step.step));
      line.y.push_back(is_finite ? *value : was_finite ? HUGE_VAL : NAN);
      was_finite = is_finite;
    }
    plot.lines.push_back(std::move(line));
  }
  std::string id = name;
  std::ranges::replace(id, ' ', '-');
  return line_legend(plot) + "<div class=\"scroll\">" + line_plot(id, plot) + "</div>";
}

/// The fraction of a histogram's values that become 0 in f16 when multiplied by 2^power: those below 2^-25,
/// half of f16's smallest subnormal.
double flushed_part(const GradientHistogram& histogram, int power) {
  std::int64_t flushed = 0, all = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    all += histogram.counts[i];
    if (static_cast<int>(i) + GradientHistogram::lowest + power < -25) flushed += histogram.counts[i];
  }
  return all == 0 ? 0 : static_cast<double>(flushed) / static_cast<double>(all);
}

std::string per_cent(double part) { return io::fixed(100 * part, 2) + "%"; }

/// The plot of a histogram, and a sentence on it.
std::string gradient_plot(const GradientHistogram& histogram) {
  const auto& counts = histogram.counts;
  const auto any = [](std::int64_t count) { return count > 0; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(counts, any) - counts.begin());
  if (first == counts.size()) return "<p>No gradient is a finite number other than zero.</p>";
  std::size_t last = first;
  for (std::size_t i = first; i < counts.size(); ++i)
    if (counts[i] > 0) last = i;
  const int low = std::min(static_cast<int>(first) + GradientHistogram::lowest, -26),
            high = std::max(static_cast<int>(last) + GradientHistogram::lowest + 1, 0);
  const double most = static_cast<double>(*std::ranges::max_element(counts)), bar = width / (high - low);
  const auto x = [&](int power) { return left + bar * (power - low); };
  std::string svg =
      "<svg viewBox=\"0 0 1080 378\" role=\"img\" aria-label=\"gradients by their powers of two\">";
  for (int power = low; power < high; ++power) {
    const std::int64_t count = counts[static_cast<std::size_t>(power - GradientHistogram::lowest)];
    if (count == 0) continue;
    const double tall = height * static_cast<double>(count) / most;
    svg += svg_box(x(power), top + height - tall, bar - 1, tall,
                   "fill=\"" + std::string(report_colour(power < -25 ? 2 : 1)) + "\"",
                   svg_title(std::to_string(count) + " values from 2^" + std::to_string(power)));
  }
  // Labels are above the bars, in rows that no other line crosses: the lower limit's line begins below the
  // upper limit's label, and its own label is on its left if there is room.
  const auto limit = [&](int power, const std::string& name, double y, bool at_left) {
    constexpr double wide_character = 7, gap = 5;
    const double wide = wide_character * static_cast<double>(name.size()) + gap, end = left + width;
    if (at_left ? x(power) - wide < 0 : x(power) + wide > end) at_left = !at_left;
    svg += svg_line(x(power), y - 10, x(power), top + height, "limit") + "<g class=\"limit-name\">" +
           svg_text(at_left ? x(power) - gap : x(power) + gap, y, at_left ? "end" : "start", name) + "</g>";
  };
  limit(-14, "2^-14: f16 loses digits below", top - 28, false);
  limit(-25, "2^-25: what is below is 0 in f16", top - 10, true);
  for (int power = low / 10 * 10; power <= high; power += 10)
    svg += svg_text(x(power), top + height + 18, "middle", "2^" + std::to_string(power));
  return "<p>" + per_cent(flushed_part(histogram, 0)) +
         " of those that are not zero are 0 in f16; multiplied by 65536, " +
         per_cent(flushed_part(histogram, 16)) + ".</p>\n<div class=\"scroll\">" + svg + "</svg></div>";
}

}  // namespace

double median_speed(const TrainedRun& run) {
  std::vector<double> speeds;
  for (const StepFacts& step : run.steps) speeds.push_back(step.tokens_per_second);
  std::ranges::nth_element(speeds, speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2));
  return speeds[speeds.size() / 2];
}

std::vector<std::vector<std::string>> comparison_table(std::span<const TrainedRun> runs) {
  std::vector<std::vector<std::string>> table{{"policy", "first loss", "last loss", "mean of last tenth",
                                               "not finite from", "gradient norm", "inf or NaN", "skipped",
                                               "scale", "tokens/s", "memory"}};
  for (const TrainedRun& run : runs)
    table.push_back({run.policy, four_digits(run.steps.front().loss), four_digits(run.steps.back().loss),
                     four_digits(run.final_loss()),
                     run.failed_at() ? "step " + std::to_string(*run.failed_at()) : "-",
                     four_digits(run.steps.back().grad_norm), std::to_string(run.non_finite()),
                     std::to_string(run.skipped()), four_digits(run.steps.back().scale),
                     four_digits(median_speed(run)), in_bytes(run.steps.back().memory)});
  if (runs.front().validation_loss()) {
    constexpr std::size_t place = 4;  // after the training losses
    table[0].insert(table[0].begin() + place, "validation loss");
    for (std::size_t run = 0; run < runs.size(); ++run)
      table[run + 1].insert(table[run + 1].begin() + place,
                            four_digits(runs[run].validation_loss().value_or(NAN)));
  }
  return table;
}

std::string train_page(std::span<const TrainedRun> runs) {
  std::string body = "<h1>One model, one text, " + std::to_string(runs.size()) +
                     (runs.size() == 1 ? " policy" : " policies") +
                     "</h1>\n<p class=\"soft\">From the same values, on the same batches.</p>\n";
  std::vector<std::string> keys;
  for (std::size_t run = 0; run < runs.size(); ++run)
    keys.push_back(report_key(run + 1));  // as line_plot does
  body += html_table(comparison_table(runs), keys) +
          "<h2>Loss</h2>\n<p class=\"soft\">A cross is a step from which a policy's number is "
          "not finite, in this plot and the next; its line goes on where the number is finite again.</p>\n" +
          plot_of_steps(runs, "loss", [](const StepFacts& step) { return step.loss; });
  if (runs.front().validation_loss())
    body += "<h2>Validation loss</h2>\n" + plot_of_steps(runs, "validation loss", [](const StepFacts& step) {
              return step.validation_loss;
            });
  body += "<h2>Gradient norm</h2>\n" +
          plot_of_steps(runs, "gradient norm", [](const StepFacts& step) { return step.grad_norm; });
  body +=
      "<h2>Loss scale</h2>\n<p>What the loss is multiplied by, so that small gradients are numbers in f16. A "
      "step with inf or NaN is left out and lowers it.</p>\n" +
      plot_of_steps(runs, "loss scale", [](const StepFacts& step) { return step.scale; });
  const TrainedRun& first = runs.front();
  body += "<h2>Gradients of " + html_text(first.policy) + " in the last step</h2>\n" +
          gradient_plot(first.gradients);
  return html_page("Training under policies", "", body);
}

Json run_json(const TrainedRun& run) {
  const StepFacts& last = run.steps.back();
  return {{"policy", run.policy},
          {"steps", last.step + 1},
          {"first_step", run.steps.front().step},
          {"first_loss", json_number(run.steps.front().loss)},
          {"loss", json_number(last.loss)},
          {"mean_loss_of_last_tenth", json_number(run.final_loss())},
          {"validation_loss", value_or_null(run.validation_loss())},
          {"not_finite_from", value_or_null(run.failed_at())},
          {"grad_norm", json_number(last.grad_norm)},
          {"non_finite", run.non_finite()},
          {"skipped", run.skipped()},
          {"scale", json_number(last.scale)},
          {"tokens_per_second", json_number(median_speed(run))},
          {"memory", last.memory}};
}

}  // namespace precast::cli
