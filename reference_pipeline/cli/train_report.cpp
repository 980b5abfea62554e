#include <algorithm>
#include <cmath>
#include <cstdio>

#include <cli/html.hpp>
#include <cli/svg.hpp>
#include <cli/train_report.hpp>

#include <precast/error.hpp>

namespace precast::cli {

namespace {

using language_model::GradientHistogram;
using language_model::StepFacts;

constexpr double left = 64, top = 20, width = 1000, height = 280;

std::string shown(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// A plot of one number of each step, a line a run; what is not finite is a cross at the top.
template <class Number>
std::string plot_of_steps(std::span<const TrainedRun> runs, const std::string& name, Number&& number) {
  double least = HUGE_VAL, most = 0;
  std::size_t steps = 1;
  for (const TrainedRun& run : runs) {
    steps = std::max(steps, run.steps.size());
    for (const StepFacts& step : run.steps)
      if (const double value = number(step); std::isfinite(value) && value > 0)
        least = std::min(least, value), most = std::max(most, value);
  }
  const PowerScale scale = PowerScale::around(least, most, top, height);
  const auto x = [&](std::size_t step) {
    return left + width * (steps == 1 ? 0.5 : static_cast<double>(step) / static_cast<double>(steps - 1));
  };
  std::string svg = "<svg viewBox=\"0 0 1080 350\" role=\"img\" aria-label=\"" + html_text(name) + "\">";
  svg += scale.lines(left, width);
  for (std::size_t place = 0; place < runs.size(); ++place) {
    std::string path;
    bool drawing = false;
    for (std::size_t i = 0; i < runs[place].steps.size(); ++i) {
      const double value = number(runs[place].steps[i]);
      if (!std::isfinite(value)) {
        if (drawing || i == 0)
          svg += "<path class=\"non-finite\" stroke=\"" + std::string(report_colour(place)) + "\" d=\"M" +
                 svg_number(x(i) - 4) + " " + svg_number(top - 9) + "l8 8m0 -8l-8 8\"/>";
        drawing = false;
        continue;
      }
      path += (drawing ? "L" : "M") + svg_number(x(i)) + " " + svg_number(scale.y(value));
      drawing = true;
    }
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(report_colour(place)) +
           "\" stroke-width=\"" + svg_number(std::max(1.2, 3.6 - 0.7 * static_cast<double>(place))) +
           "\" stroke-linejoin=\"round\"/>";
    const std::size_t marks = 6;  // each run's at places of its own
    for (std::size_t mark = 0; mark < marks; ++mark) {
      const std::size_t i = (mark * runs.size() + place) * runs[place].steps.size() / (marks * runs.size());
      if (const double value = number(runs[place].steps[i]); std::isfinite(value))
        svg += svg_mark(place, x(i), scale.y(value),
                        svg_title(runs[place].policy + ", step " + std::to_string(i) + ": " + shown(value)));
    }
  }
  for (const std::size_t step : {std::size_t{0}, steps / 2, steps - 1})
    svg += svg_text(x(step), top + height + 18, "middle", std::to_string(step));
  svg += svg_text(left + width / 2, top + height + 38, "middle", "step");
  return "<div class=\"scroll\">" + svg + "</svg></div>";
}

std::string legend(std::span<const TrainedRun> runs) {
  std::string text = "<div class=\"legend\">";
  for (std::size_t place = 0; place < runs.size(); ++place)
    text += "<span>" + report_key(place) + html_text(runs[place].policy) + "</span>";
  return text + "</div>";
}

/// How many of a histogram's values are f16's zeros once they are multiplied by 2^power: those below half of
/// its least number, 2^-25.
double flushed_part(const GradientHistogram& histogram, int power) {
  std::int64_t flushed = 0, all = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    all += histogram.counts[i];
    if (static_cast<int>(i) + GradientHistogram::lowest + power < -25) flushed += histogram.counts[i];
  }
  return all == 0 ? 0 : static_cast<double>(flushed) / static_cast<double>(all);
}

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
      "<svg viewBox=\"0 0 1080 350\" role=\"img\" aria-label=\"gradients by their powers of two\">";
  for (int power = low; power < high; ++power) {
    const std::int64_t count = counts[static_cast<std::size_t>(power - GradientHistogram::lowest)];
    if (count == 0) continue;
    const double tall = height * static_cast<double>(count) / most;
    svg += svg_box(x(power), top + height - tall, bar - 1, tall,
                   "fill=\"" + std::string(report_colour(power < -25 ? 2 : 1)) + "\"",
                   svg_title(std::to_string(count) + " values from 2^" + std::to_string(power)));
  }
  const auto limit = [&](int power, const std::string& name, double y) {
    svg += svg_line(x(power), top, x(power), top + height, "limit") + "<g class=\"limit-name\">" +
           svg_text(x(power) + 5, y, "start", name) + "</g>";
  };
  limit(-25, "2^-25: what is below is 0 in f16", top + 12);
  limit(-14, "2^-14: f16 loses digits below", top + 28);
  for (int power = (low + 9) / 10 * 10; power <= high; power += 10)
    svg += svg_text(x(power), top + height + 18, "middle", "2^" + std::to_string(power));
  return "<div class=\"scroll\">" + svg + "</svg></div>";
}

std::string per_cent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * part);
  return text;
}

}  // namespace

double middle_speed(const TrainedRun& run) {
  std::vector<double> speeds;
  for (const StepFacts& step : run.steps) speeds.push_back(step.tokens_per_second);
  std::ranges::nth_element(speeds, speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2));
  return speeds[speeds.size() / 2];
}

std::vector<std::vector<std::string>> comparison_table(std::span<const TrainedRun> runs) {
  std::vector<std::vector<std::string>> table{{"policy", "first loss", "last loss", "mean of last tenth",
                                               "not finite from", "skipped", "scale", "tokens/s", "memory"}};
  for (const TrainedRun& run : runs)
    table.push_back(
        {run.policy, shown(run.steps.front().loss), shown(run.steps.back().loss), shown(run.final_loss()),
         run.failed_at() ? "step " + std::to_string(*run.failed_at()) : "-", std::to_string(run.skipped()),
         shown(run.steps.back().scale), shown(middle_speed(run)), in_bytes(run.steps.back().memory)});
  return table;
}

std::string train_page(std::span<const TrainedRun> runs) {
  std::string body = "<h1>One model, one text, " + std::to_string(runs.size()) +
                     (runs.size() == 1 ? " policy" : " policies") +
                     "</h1>\n<p class=\"soft\">From the same values, on the same batches.</p>\n";
  body += "<div class=\"scroll\"><table>";
  const auto table = comparison_table(runs);
  for (std::size_t row = 0; row < table.size(); ++row) {
    body += "<tr>";
    for (std::size_t column = 0; column < table[row].size(); ++column) {
      const std::string tag = row == 0 ? "th" : "td";
      body += "<" + tag + (column > 0 ? " class=\"number\">" : ">") +
              (row > 0 && column == 0 ? report_key(row - 1) : "") + html_text(table[row][column]) + "</" +
              tag + ">";
    }
    body += "</tr>\n";
  }
  body += "</table></div>\n<h2>Loss</h2>\n" + legend(runs) +
          plot_of_steps(runs, "loss by step", [](const StepFacts& step) { return step.loss; });
  body += "<h2>Gradient norm</h2>\n" + legend(runs) +
          plot_of_steps(runs, "gradient norm by step", [](const StepFacts& step) { return step.grad_norm; });
  body +=
      "<h2>Loss scale</h2>\n<p>What the loss is multiplied by, so that small gradients are numbers in f16. A "
      "step with inf or NaN is left out and lowers it.</p>\n" +
      legend(runs) +
      plot_of_steps(runs, "loss scale by step", [](const StepFacts& step) { return step.scale; });
  const TrainedRun& first = runs.front();
  body += "<h2>Gradients of " + html_text(first.policy) + " in the last step</h2>\n<p>" +
          per_cent(flushed_part(first.gradients, 0)) +
          " of those that are not zero are 0 in f16; multiplied by 65536, " +
          per_cent(flushed_part(first.gradients, 16)) + ".</p>\n" + gradient_plot(first.gradients);
  return html_page("Training under policies", "", body);
}

}  // namespace precast::cli
