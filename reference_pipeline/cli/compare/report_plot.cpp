#include <algorithm>
#include <cmath>
#include <map>

#include <cli/compare/report_plot.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/svg.hpp>
#include <cli/running/component_of.hpp>
#include <cli/terminal/format.hpp>

namespace precast::cli {

namespace {

constexpr double plot_left = 56, plot_top = 34, plot_width = 1010, plot_height = 300, plot_right = 14;
constexpr double largest_f16 = 65504;
constexpr std::size_t fewest_for_a_label = 6;  // per hundred layers: narrower bands have no room for names

/// Maps layers and values to coordinates.
struct Axes {
  std::size_t layers;
  PowerScale values;

  double x(std::size_t layer) const {
    return plot_left + plot_width * (static_cast<double>(layer) + 0.5) / static_cast<double>(layers);
  }
  double y(double value) const { return values.y(value); }
};

Axes axes_for(std::span<const LayerRow> layers) {
  double least = 1, most = largest_f16;
  for (const LayerRow& layer : layers)
    for (const double value : layer.max_abs)
      if (value > 0) least = std::min(least, value), most = std::max(most, value);
  return {layers.size(), PowerScale::around(std::max(least, 1e-8), most, plot_top, plot_height)};
}

/// Bands behind the lines, one for each component of the model.
std::string component_bands(std::span<const LayerRow> layers, const Axes& axes) {
  std::string text;
  for (std::size_t begin = 0, number = 0; begin < layers.size(); ++number) {
    std::size_t end = begin;
    while (end < layers.size() && component_of(layers[end].name) == component_of(layers[begin].name)) ++end;
    const double half = plot_width / static_cast<double>(layers.size()) / 2;
    const double left = axes.x(begin) - half, right = axes.x(end - 1) + half;
    text += svg_box(left, plot_top, right - left, plot_height,
                    "class=\"band" + std::to_string(number % 2) + "\"");
    if ((end - begin) * 100 >= fewest_for_a_label * layers.size())
      text += svg_text((left + right) / 2, plot_top + plot_height + 18, "middle",
                       std::string(component_of(layers[begin].name)));
    begin = end;
  }
  return text;
}

std::string value_lines(const Axes& axes) {
  std::string text = axes.values.lines(plot_left, plot_width);
  const double limit = axes.y(largest_f16);
  return text + svg_line(plot_left, limit, plot_left + plot_width, limit, "limit");
}

std::string limit_name(const Axes& axes) {
  return "<g class=\"limit-name\">" +
         svg_text(plot_left + plot_width - 6, axes.y(largest_f16) - 5, "end",
                  "65504, the largest number of f16") +
         "</g>";
}

/// Marks on a policy's line, at positions that differ between policies, so that no mark hides another where
/// lines coincide.
std::string policy_marks(std::span<const LayerRow> layers, std::size_t policies, std::size_t policy,
                         const Axes& axes) {
  constexpr double apart = 14;
  // Fewer than four policies have marks as far apart as four.
  const double turn = apart * static_cast<double>(std::max<std::size_t>(policies, 4));
  const double own = turn * (static_cast<double>(policy) + 0.5) / static_cast<double>(policies);
  std::string text;
  for (int count = 0; own + count * turn < plot_width; ++count) {
    const double x = own + count * turn;
    const double layer = std::clamp(x / plot_width * static_cast<double>(layers.size()) - 0.5, 0.0,
                                    static_cast<double>(layers.size() - 1));
    const auto left = static_cast<std::size_t>(layer);
    const std::size_t right = std::min(left + 1, layers.size() - 1);
    if (!layers[left].has_value(policy) || !layers[right].has_value(policy)) continue;
    const double a = layers[left].max_abs[policy], b = layers[right].max_abs[policy];
    const double part = layer - static_cast<double>(left);
    text += svg_mark(policy, plot_left + x, axes.y(a) * (1 - part) + axes.y(b) * part);
  }
  return text;
}

/// The policy's line, in pieces where a layer has no value under it.
std::string policy_line(std::span<const LayerRow> layers, std::size_t policy, const Axes& axes) {
  std::string path;
  bool drawing = false;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].has_value(policy)) {
      drawing = false;
      continue;
    }
    path +=
        (drawing ? "L" : "M") + svg_number(axes.x(i)) + " " + svg_number(axes.y(layers[i].max_abs[policy]));
    drawing = true;
  }
  // Each line is thinner than the previous one, so that coinciding lines are all visible.
  const double width = std::max(1.2, 5.0 - 1.3 * static_cast<double>(policy));
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(report_colour(policy)) +
         "\" stroke-width=\"" + svg_number(width) + "\" stroke-linejoin=\"round\"/>";
}

std::string non_finite_marks(std::span<const LayerRow> layers, std::size_t policy, const Axes& axes) {
  std::string text;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].non_finite[policy] > 0) text += svg_cross(policy, axes.x(i), plot_top - 1);
  return text;
}

/// Invisible columns whose tooltips show a layer's values.
std::string layer_columns(std::span<const Compared> rows, std::span<const LayerRow> layers,
                          const Axes& axes) {
  std::string text;
  const double width = plot_width / static_cast<double>(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::string values = layers[i].name;
    for (std::size_t policy = 0; policy < rows.size(); ++policy) {
      if (layers[i].max_abs[policy] < 0) continue;
      const bool has_value = layers[i].has_value(policy);
      values += "\n" + rows[policy].name + ": " + (has_value ? four_digits(layers[i].max_abs[policy]) : "");
      if (layers[i].non_finite[policy])
        values += (has_value ? ", " : "") + with_commas(layers[i].non_finite[policy]) + " not finite";
    }
    text +=
        svg_box(axes.x(i) - width / 2, plot_top, width, plot_height, "class=\"column\"", svg_title(values));
  }
  return text;
}

}  // namespace

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
  std::string text = "<svg id=\"plot\" viewBox=\"0 0 " + svg_number(plot_left + plot_width + plot_right) +
                     " " + svg_number(plot_top + plot_height + 28) +
                     "\" role=\"img\" aria-label=\"The largest value of each layer under each policy\">";
  text += component_bands(layers, axes) + value_lines(axes);
  for (std::size_t policy = 0; policy < rows.size(); ++policy)
    text += policy_line(layers, policy, axes) + non_finite_marks(layers, policy, axes);
  for (std::size_t policy = 0; policy < rows.size(); ++policy)
    text += policy_marks(layers, rows.size(), policy, axes);
  // Drawn over the lines, so that the label stays readable.
  return text + limit_name(axes) + layer_columns(rows, layers, axes) + "</svg>";
}

}  // namespace precast::cli
