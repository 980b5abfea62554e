#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include <cli/report_plot.hpp>
#include <image/unicode.hpp>

namespace precast::cli {

namespace {

constexpr double plot_left = 56, plot_top = 34, plot_width = 1010, plot_height = 300, plot_right = 14;
constexpr double largest_f16 = 65504;
constexpr std::size_t fewest_for_a_label = 6;  // of a hundred layers: narrower bands have no room for a name

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string six_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) +
         "\" x2=\"" + coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\"/>";
}

std::string svg_text(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor + "\">" +
         html_text(text) + "</text>";
}

/// Where layers and values lie.
struct Axes {
  std::size_t layers;
  int lowest, highest;  ///< powers of ten

  double x(std::size_t layer) const {
    return plot_left + plot_width * (static_cast<double>(layer) + 0.5) / static_cast<double>(layers);
  }
  double y(double value) const {
    const double power = std::log10(std::max(value, 1e-300));
    const double part = (power - lowest) / (highest - lowest);
    return plot_top + plot_height * (1 - std::clamp(part, 0.0, 1.0));
  }
};

Axes axes_for(std::span<const LayerRow> layers) {
  double least = 1, most = largest_f16;
  for (const LayerRow& layer : layers)
    for (const double value : layer.max_abs)
      if (value > 0) least = std::min(least, value), most = std::max(most, value);
  const auto floor_power = static_cast<int>(std::floor(std::log10(least)));
  return {layers.size(), std::max(floor_power, -8), static_cast<int>(std::ceil(std::log10(most)))};
}

std::string component_of(const std::string& name) { return name.substr(0, name.find('.')); }

/// Bands behind the lines, one for each component of the model.
std::string component_bands(std::span<const LayerRow> layers, const Axes& axes) {
  std::string text;
  for (std::size_t begin = 0, number = 0; begin < layers.size(); ++number) {
    std::size_t end = begin;
    while (end < layers.size() && component_of(layers[end].name) == component_of(layers[begin].name)) ++end;
    const double half = plot_width / static_cast<double>(layers.size()) / 2;
    const double left = axes.x(begin) - half, right = axes.x(end - 1) + half;
    text += "<rect class=\"band" + std::to_string(number % 2) + "\" x=\"" + coordinate(left) + "\" y=\"" +
            coordinate(plot_top) + "\" width=\"" + coordinate(right - left) + "\" height=\"" +
            coordinate(plot_height) + "\"/>";
    if ((end - begin) * 100 >= fewest_for_a_label * layers.size())
      text += svg_text((left + right) / 2, plot_top + plot_height + 18, "middle",
                       component_of(layers[begin].name));
    begin = end;
  }
  return text;
}

std::string value_lines(const Axes& axes) {
  std::string text;
  const int every = std::max(1, (axes.highest - axes.lowest) / 8);
  for (int power = axes.lowest; power <= axes.highest; power += every) {
    const double y = axes.y(std::pow(10.0, power));
    text += svg_line(plot_left, y, plot_left + plot_width, y, "grid");
    const std::string label = power >= 0 && power <= 5
                                  ? "1" + std::string(static_cast<std::size_t>(power), '0')
                                  : "1e" + std::to_string(power);
    text += svg_text(plot_left - 8, y + 4, "end", label);
  }
  const double limit = axes.y(largest_f16);
  text += svg_line(plot_left, limit, plot_left + plot_width, limit, "limit");
  return text + "<g class=\"limit-name\">" +
         svg_text(plot_left + plot_width - 6, limit - 5, "end", "65504, the largest number of f16") + "</g>";
}

/// A mark whose middle is at this place. Shapes take turns as colours do, with another period.
std::string mark(std::size_t place, double x, double y) {
  static constexpr std::array<std::string_view, 5> shapes{"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
                                                          "m-3.5-3.5h7v7h-7z", "m0-4.8l4.6 8h-9.2z",
                                                          "m0-5l5 5l-5 5l-5-5z", "m0 4.8l4.6-8h-9.2z"};
  return "<path class=\"mark\" fill=\"" + std::string(report_colour(place)) + "\" d=\"M" + coordinate(x) +
         " " + coordinate(y) + std::string(shapes[place % shapes.size()]) + "\"/>";
}

/// Marks on a policy's line. Each policy has them at places of its own, so that no mark hides another where
/// lines are one over the other.
std::string policy_marks(std::span<const LayerRow> layers, std::size_t policies, std::size_t policy,
                         const Axes& axes) {
  constexpr double apart = 14;
  // Few policies have no more marks than many.
  const double turn = apart * static_cast<double>(std::max<std::size_t>(policies, 4));
  const double own = turn * (static_cast<double>(policy) + 0.5) / static_cast<double>(policies);
  std::string text;
  for (double x = own; x < plot_width; x += turn) {
    const double layer = std::clamp(x / plot_width * static_cast<double>(layers.size()) - 0.5, 0.0,
                                    static_cast<double>(layers.size() - 1));
    const auto left = static_cast<std::size_t>(layer);
    const std::size_t right = std::min(left + 1, layers.size() - 1);
    const double a = layers[left].max_abs[policy], b = layers[right].max_abs[policy];
    if (a < 0 || b < 0) continue;
    const double part = layer - static_cast<double>(left);
    text += mark(policy, plot_left + x, axes.y(a) * (1 - part) + axes.y(b) * part);
  }
  return text;
}

/// The policy's line, in pieces where it did not run a layer.
std::string policy_line(std::span<const LayerRow> layers, std::size_t policy, const Axes& axes) {
  std::string path;
  bool drawing = false;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double value = layers[i].max_abs[policy];
    if (value < 0) {
      drawing = false;
      continue;
    }
    path += (drawing ? "L" : "M") + coordinate(axes.x(i)) + " " + coordinate(axes.y(value));
    drawing = true;
  }
  // Each is thinner than those before it, so that all are seen where they are equal.
  const double width = std::max(1.2, 5.0 - 1.3 * static_cast<double>(policy));
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(report_colour(policy)) +
         "\" stroke-width=\"" + coordinate(width) + "\" stroke-linejoin=\"round\"/>";
}

std::string non_finite_marks(std::span<const LayerRow> layers, std::size_t policy, const Axes& axes) {
  std::string text;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].non_finite[policy] > 0)
      text += "<path class=\"non-finite\" stroke=\"" + std::string(report_colour(policy)) + "\" d=\"M" +
              coordinate(axes.x(i) - 4) + " " + coordinate(plot_top - 9) + "l8 8m0 -8l-8 8\"/>";
  return text;
}

/// Invisible columns that say a layer's values where a pointer rests.
std::string layer_columns(std::span<const Compared> rows, std::span<const LayerRow> layers,
                          const Axes& axes) {
  std::string text;
  const double width = plot_width / static_cast<double>(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::string values = layers[i].name;
    for (std::size_t policy = 0; policy < rows.size(); ++policy) {
      if (layers[i].max_abs[policy] < 0) continue;
      values += "\n" + rows[policy].name + ": " + six_digits(layers[i].max_abs[policy]);
      if (layers[i].non_finite[policy])
        values += ", " + with_commas(layers[i].non_finite[policy]) + " not finite";
    }
    text += "<rect class=\"column\" x=\"" + coordinate(axes.x(i) - width / 2) + "\" y=\"" +
            coordinate(plot_top) + "\" width=\"" + coordinate(width) + "\" height=\"" +
            coordinate(plot_height) + "\"><title>" + html_text(values) + "</title></rect>";
  }
  return text;
}

}  // namespace

std::string_view report_colour(std::size_t place) {
  // Eight that people who see fewer colours can tell apart, too.
  static constexpr std::array<std::string_view, 8> colours{"#7a7a7a", "#0072b2", "#d55e00", "#009e73",
                                                           "#cc79a7", "#e69f00", "#56b4e9", "#8c5a2b"};
  return colours[place % colours.size()];
}

std::string report_key(std::size_t place) {
  return "<svg class=\"key\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">" + mark(place, 0, 0) + "</svg>";
}

std::string html_text(std::string_view text) {
  std::string result;
  for (const std::int32_t point : image::code_points(text)) {
    switch (point) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        image::append_utf8(result, point < 0x20 && point != '\n' && point != '\t' ? 0xfffd : point);
    }
  }
  return result;
}

std::vector<LayerRow> layer_rows(std::span<const Compared> rows) {
  std::vector<LayerRow> layers;
  std::map<std::string, std::size_t> places;
  for (std::size_t policy = 0; policy < rows.size(); ++policy)
    for (const LayerPeak& peak : rows[policy].layers) {
      const std::string name = peak.path + " " + peak.function;
      const auto [place, is_new] = places.try_emplace(name, layers.size());
      if (is_new)
        layers.push_back(
            {name, std::vector<double>(rows.size(), -1), std::vector<std::int64_t>(rows.size())});
      layers[place->second].max_abs[policy] = peak.max_abs;
      layers[place->second].non_finite[policy] = peak.non_finite;
    }
  return layers;
}

std::string report_plot(std::span<const Compared> rows, std::span<const LayerRow> layers) {
  if (layers.empty()) return {};
  const Axes axes = axes_for(layers);
  std::string text = "<svg id=\"plot\" viewBox=\"0 0 " + coordinate(plot_left + plot_width + plot_right) +
                     " " + coordinate(plot_top + plot_height + 28) +
                     "\" role=\"img\" aria-label=\"The largest value of each layer under each policy\">";
  text += component_bands(layers, axes) + value_lines(axes);
  for (std::size_t policy = 0; policy < rows.size(); ++policy)
    text += policy_line(layers, policy, axes) + non_finite_marks(layers, policy, axes);
  for (std::size_t policy = 0; policy < rows.size(); ++policy)
    text += policy_marks(layers, rows.size(), policy, axes);
  return text + layer_columns(rows, layers, axes) + "</svg>";
}

}  // namespace precast::cli
