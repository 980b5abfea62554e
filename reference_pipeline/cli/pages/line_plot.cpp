#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <cli/pages/svg.hpp>
#include <cli/terminal/format.hpp>

namespace precast::cli {

namespace {

constexpr double frame_left = 76, frame_top = 46, frame_width = 990, frame_height = 320, frame_right = 24,
                 frame_below = 52;
constexpr double marks_of_a_line = 12;
constexpr std::size_t most_named_values = 12;
constexpr double least_between_names = 40;

/// The values of one axis, linear or logarithmic. If there are few, as in a sweep, they are the ticks
/// (`named`) instead of round values. `whole`: values and ticks are integers, as steps are.
struct LineAxis {
  double low, high;
  bool powers, whole;
  std::vector<double> named;

  double part(double value) const {
    if (powers) value = std::log10(std::max(value, 1e-300));
    return std::clamp((value - low) / (high - low), 0.0, 1.0);
  }
};

/// The axis of these values. A logarithmic one (`powers`) ends at powers of ten, or at the values
/// themselves if there are few. A single value is centred.
LineAxis axis_of(const std::vector<double>& values, bool powers = false) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool whole = true;
  std::set<double> different;
  for (double value : values) {
    if (!std::isfinite(value) || (powers && value <= 0)) continue;
    different.insert(value);
    whole = whole && value == std::floor(value);
    if (powers) value = std::log10(value);
    low = std::min(low, value), high = std::max(high, value);
  }
  if (low > high) low = 0, high = 1;
  const bool few = different.size() == 1 || (powers && different.size() <= most_named_values);
  if (powers && !few) low = std::floor(low + 1e-9), high = std::ceil(high - 1e-9);
  if (!(high > low)) {
    const double beside = std::max(0.5, std::fabs(low) / 2);  // 1e30 +- 0.5 would round to 1e30
    low -= beside, high += beside;
  }
  LineAxis axis{low, high, powers, whole, {}};
  if (few) axis.named.assign(different.begin(), different.end());
  return axis;
}

/// The step between ticks, 1, 2 or 5 times a power of ten: four to nine of them fit into `range`.
double even_step(double range) {
  const double power = std::pow(10.0, std::floor(std::log10(range / 4)));
  for (const double times : {5.0, 2.0})
    if (range / (times * power) >= 4) return times * power;
  return power;
}

/// The ticks of an axis, as values.
std::vector<double> ticks(const LineAxis& axis) {
  if (!axis.named.empty()) return axis.named;
  std::vector<double> found;
  if (axis.powers) {
    const int every = std::max(1, static_cast<int>((axis.high - axis.low) / 8));
    const auto first = static_cast<int>(std::ceil(axis.low)), last = static_cast<int>(std::floor(axis.high));
    for (int power = first; power <= last; power += every) found.push_back(std::pow(10.0, power));
    return found;
  }
  const double even = even_step(axis.high - axis.low);
  const double step = axis.whole ? std::max(1.0, even) : even;
  for (double at = std::ceil(axis.low / step - 1e-9); at * step <= axis.high + step * 1e-9; at += 1)
    found.push_back(at * step);
  return found;
}

std::string tick_name(double value) { return four_digits(std::fabs(value) < 1e-300 ? 0 : value); }

/// `powers`, a logarithmic scale, replaces `upwards` if it is set.
struct LineAxes {
  LineAxis across, upwards;
  std::optional<PowerScale> powers;
  double x(double value) const { return frame_left + frame_width * across.part(value); }
  double y(double value) const {
    return powers ? powers->y(value) : frame_top + frame_height * (1 - upwards.part(value));
  }
};

PowerScale power_scale(const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const double value : values)
    if (std::isfinite(value) && value > 0) least = std::min(least, value), most = std::max(most, value);
  return PowerScale::around(least, most, frame_top, frame_height);
}

LineAxes axes_of(const plots::Plot& plot) {
  std::vector<double> x, y;
  for (const plots::Line& line : plot.lines) {
    x.insert(x.end(), line.x.begin(), line.x.end());
    y.insert(y.end(), line.y.begin(), line.y.end());
  }
  for (const plots::Place& place : plot.places) x.push_back(place.x);
  LineAxes axes{axis_of(x, plot.powers_of_x), axis_of(y), {}};
  if (plot.powers_of_y) axes.powers = power_scale(y);
  return axes;
}

std::string grid(const plots::Plot& plot, const LineAxes& axes) {
  std::string text;
  if (axes.powers) text += axes.powers->lines(frame_left, frame_width);
  for (const double value : axes.powers ? std::vector<double>() : ticks(axes.upwards))
    text += svg_line(frame_left, axes.y(value), frame_left + frame_width, axes.y(value), "grid") +
            svg_text(frame_left - 8, axes.y(value) + 4, "end", tick_name(value));
  double last_named = -least_between_names;
  for (const double value : ticks(axes.across)) {
    const double x = axes.x(value);
    text += svg_line(x, frame_top + frame_height, x, frame_top + frame_height + 5, "grid");
    if (x - last_named < least_between_names) continue;
    text += svg_text(x, frame_top + frame_height + 20, "middle", tick_name(value));
    last_named = x;
  }
  return text + svg_text(frame_left + frame_width / 2, frame_top + frame_height + 42, "middle", plot.x_name) +
         svg_text(frame_left - 8, frame_top - 30, "start", plot.y_name);
}

std::string places(const plots::Plot& plot, const LineAxes& axes) {
  std::string text;
  double under = frame_top + frame_height * 0.45;  // where lines rarely pass
  for (const plots::Place& place : plot.places) {
    const double x = axes.x(place.x);
    const bool at_left = x < frame_left + frame_width / 2;
    text += svg_line(x, frame_top, x, frame_top + frame_height, "limit") + "<g class=\"limit-name\">" +
            svg_text(at_left ? x + 6 : x - 6, under, at_left ? "start" : "end", place.name) + "</g>";
    under += 16;
  }
  return text;
}

/// A line with gaps at missing values and crosses at infinite ones.
std::string drawn(const plots::Line& line, std::size_t place, const LineAxes& axes) {
  std::string path, crosses;
  bool drawing = false;
  const std::string colour(report_colour(place + 1));
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const double value = line.y[i];
    if (std::isinf(value)) crosses += svg_cross(place + 1, axes.x(line.x[i]), frame_top - 1);
    if (!std::isfinite(value)) {
      drawing = false;
      continue;
    }
    path += (drawing ? "L" : "M") + svg_number(axes.x(line.x[i])) + " " + svg_number(axes.y(value));
    drawing = true;
  }
  // Each line is thinner than the previous one, so that coinciding lines are all visible.
  const double thick = std::max(1.2, 4.4 - 0.8 * static_cast<double>(place));
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
         svg_number(thick) + "\" stroke-linejoin=\"round\"/>" + crosses;
}

/// Marks with tooltips on a line, at positions that differ between lines, so that none hides another.
std::string marks(const plots::Line& line, std::size_t place, std::size_t lines, const LineAxes& axes) {
  std::string text;
  const auto count = static_cast<double>(line.x.size());
  const double every = std::max(1.0, count / marks_of_a_line);
  const double own = every * static_cast<double>(place) / static_cast<double>(lines);
  for (int mark = 0; own + mark * every < count; ++mark) {
    const auto i = static_cast<std::size_t>(own + mark * every);
    if (!std::isfinite(line.y[i])) continue;
    text += svg_mark(place + 1, axes.x(line.x[i]), axes.y(line.y[i]),
                     svg_title(line.name + ": " + four_digits(line.y[i]) + " at " + four_digits(line.x[i])));
  }
  return text;
}

}  // namespace

std::string line_plot(const std::string& id, const plots::Plot& plot) {
  const LineAxes axes = axes_of(plot);
  std::string text = "<svg id=\"" + html_text(id) + "\" viewBox=\"0 0 " +
                     svg_number(frame_left + frame_width + frame_right) + " " +
                     svg_number(frame_top + frame_height + frame_below) + "\" role=\"img\" aria-label=\"" +
                     html_text(plot.title) + "\">" + grid(plot, axes);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) text += drawn(plot.lines[i], i, axes);
  text += places(plot, axes);  // above the lines, which would cross the labels
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    text += marks(plot.lines[i], i, plot.lines.size(), axes);
  return text + "</svg>";
}

std::string line_legend(const plots::Plot& plot) {
  std::string text = "<div class=\"legend\">";
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    text += "<span>" + report_key(i + 1) + html_text(plot.lines[i].name) + "</span>";
  return text + "</div>";
}

}  // namespace precast::cli
