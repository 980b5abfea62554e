#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <cli/casting/cost_plots.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/svg.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/output.hpp>

namespace precast::cli {

namespace {

constexpr double cost_left = 62, cost_top = 26, cost_width = 1000, cost_height = 340, cost_right = 18;

std::size_t type_place(const std::vector<std::string>& types, const std::string& type) {
  return static_cast<std::size_t>(std::ranges::find(types, type) - types.begin());
}

std::string svg_of(const std::string& id, double height, const std::string& label,
                   const std::string& inside) {
  return "<svg id=\"" + id + "\" viewBox=\"0 0 " + svg_number(cost_left + cost_width + cost_right) + " " +
         svg_number(height) + "\" role=\"img\" aria-label=\"" + html_text(label) + "\">" + inside + "</svg>";
}

/// The part before the first number: "single_transformer_blocks" for
/// "single_transformer_blocks.7.attn.to_q".
std::string group_of(const std::string& name) {
  const std::size_t digit = name.find_first_of("0123456789");
  const std::string group = name.substr(0, digit);
  return group.ends_with('.') ? group.substr(0, group.size() - 1) : group;
}

/// The first number of a name, "7" for that one; "" if there is none.
std::string number_in(const std::string& name) {
  const std::size_t begin = std::min(name.find_first_of("0123456789"), name.size());
  return name.substr(begin, name.find_first_not_of("0123456789", begin) - begin);
}

/// The axis of layers, all of equal width.
struct LayerAxis {
  std::size_t count;
  double width() const { return cost_width / static_cast<double>(count); }
  double x(std::size_t layer) const { return cost_left + width() * (static_cast<double>(layer) + 0.5); }
};

/// Labels the layers from `begin` to `end` with their numbers. Layers with the same number, such as the
/// matrices of a block, share a label at their middle. Labels too close to the previous one are left out.
std::string layer_numbers(const casting::CostFile& file, const LayerAxis& axis, std::size_t begin,
                          std::size_t end) {
  constexpr double least_apart = 30;
  std::string text;
  double last = -least_apart;
  for (std::size_t first = begin, next = begin; first < end; first = next) {
    const std::string number = number_in(file.layers[first].name);
    while (next < end && number_in(file.layers[next].name) == number) ++next;
    const double x = (axis.x(first) + axis.x(next - 1)) / 2;
    if (number.empty() || x - last < least_apart) continue;
    text += svg_text(x, cost_top + cost_height + 16, "middle", number);
    last = x;
  }
  return text;
}

/// Bands behind the lines, one for each group of layers, with numbers under them.
std::string layer_bands(const casting::CostFile& file, const LayerAxis& axis) {
  std::string text;
  for (std::size_t begin = 0, number = 0; begin < file.layers.size(); ++number) {
    const std::string group = group_of(file.layers[begin].name);
    std::size_t end = begin;
    while (end < file.layers.size() && group_of(file.layers[end].name) == group) ++end;
    const double left = axis.x(begin) - axis.width() / 2, right = axis.x(end - 1) + axis.width() / 2;
    text += svg_box(left, cost_top, right - left, cost_height,
                    "class=\"band" + std::to_string(number % 2) + "\"");
    text += layer_numbers(file, axis, begin, end);
    if (right - left > 7.0 * static_cast<double>(group.size()))
      text += svg_text((left + right) / 2, cost_top + cost_height + 34, "middle", group);
    begin = end;
  }
  return text;
}

std::optional<double> number_of(const casting::LayerCost& layer, const std::string& type,
                                casting::Measure measure) {
  const auto found = layer.types.find(type);
  return found == layer.types.end() ? std::nullopt : casting::value_of(found->second, measure);
}

/// The scale for all positive values of a measure; nothing if the file has none.
std::optional<PowerScale> scale_of(const casting::CostFile& file, casting::Measure measure) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  bool any = false;
  for (const casting::LayerCost& layer : file.layers)
    for (const auto& [type, cost] : layer.types)
      if (const auto value = casting::value_of(cost, measure)) {
        any = true;
        if (std::isfinite(*value) && *value > 0)
          least = std::min(least, *value), most = std::max(most, *value);
      }
  if (!any) return std::nullopt;
  return PowerScale::around(std::max(least, most * 1e-12), most, cost_top, cost_height);
}

/// A format's line with gaps where values are missing, its marks, and crosses for non-finite values.
std::string type_line(const casting::CostFile& file, const std::string& type, std::size_t place,
                      casting::Measure measure, const LayerAxis& axis, const PowerScale& scale) {
  std::string path, marks;
  bool drawing = false;
  const std::size_t every = std::max<std::size_t>(1, file.layers.size() / 12);
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    const auto value = number_of(file.layers[i], type, measure);
    if (!value || !std::isfinite(*value)) {
      drawing = false;
      if (value) marks += svg_cross(place, axis.x(i), cost_top - 4);
      continue;
    }
    path += (drawing ? "L" : "M") + svg_number(axis.x(i)) + " " + svg_number(scale.y(*value));
    drawing = true;
    if ((i + place) % every == 0) marks += svg_mark(place, axis.x(i), scale.y(*value));
  }
  if (path.empty()) return marks;
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(report_colour(place)) +
         "\" stroke-width=\"1.6\" stroke-linejoin=\"round\"/>" + marks;
}

/// Places labels beside marks so that they overlap no other label and stay inside the plot.
class NamePlaces {
 public:
  std::string put(double x, double y, const std::string& name) {
    constexpr double letter = 7, line = 13;
    const double width = letter * static_cast<double>(name.size());
    const Box choices[] = {{x + 10, y - 6, width},
                           {x + 10, y + 15, width},
                           {x - 10 - width, y + 15, width},
                           {x - 10 - width, y - 6, width},
                           {x + 10, y + 15 + line, width}};
    const auto is_free = [&](const Box& box) {
      return box.x >= 0 && box.x + box.width <= cost_left + cost_width + cost_right &&
             std::ranges::none_of(taken_, [&](const Box& other) {
               return std::abs(box.y - other.y) < line && box.x < other.x + other.width &&
                      other.x < box.x + box.width;
             });
    };
    const Box* const found = std::ranges::find_if(choices, is_free);
    const Box& box = found != std::end(choices)       ? *found
                     : x < cost_left + cost_width / 2 ? choices[0]
                                                      : choices[3];
    taken_.push_back(box);
    return box.x > x ? svg_text(box.x, box.y, "start", name) : svg_text(x - 10, box.y, "end", name);
  }

 private:
  struct Box {
    double x, y, width;
  };
  std::vector<Box> taken_;
};

}  // namespace

std::string types_legend(const casting::CostFile& file) {
  std::string legend = "<div class=\"legend\">";
  const std::vector<std::string> types = file.types();
  for (std::size_t place = 0; place < types.size(); ++place) {
    const auto bits = file.bits_of(types[place]);
    legend += "<span>" + report_key(place) + html_text(types[place]) +
              (bits ? " <span class=\"soft\">" + four_digits(*bits) + " bits</span>" : "") + "</span>";
  }
  return legend + "</div>\n";
}

std::string measure_plot(const casting::CostFile& file, casting::Measure measure) {
  const auto scale = scale_of(file, measure);
  if (!scale) return "";
  const LayerAxis axis{file.layers.size()};
  const std::vector<std::string> types = file.types();
  const std::string name(to_string(measure));
  std::string inside = layer_bands(file, axis) + scale->lines(cost_left, cost_width);
  for (std::size_t place = 0; place < types.size(); ++place)
    inside += type_line(file, types[place], place, measure, axis, *scale);
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    std::string values = file.layers[i].name;
    if (file.layers[i].parameters) values += ", " + with_commas(*file.layers[i].parameters) + " parameters";
    for (const std::string& type : types)
      if (const auto value = number_of(file.layers[i], type, measure))
        values += "\n" + type + ": " + four_digits(*value);
    inside += svg_box(axis.x(i) - axis.width() / 2, cost_top, axis.width(), cost_height, "class=\"column\"",
                      svg_title(values));
  }
  return svg_of("plot-" + name, cost_top + cost_height + 42, name + " of each layer in each format", inside);
}

std::string size_plot(const casting::CostFile& file, std::span<const casting::PlannedSize> plans,
                      std::span<const casting::PlannedSize> sizes) {
  double fewest = 64, most_bits = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (const auto& some : {plans, sizes})
    for (const casting::PlannedSize& size : some) {
      fewest = std::min(fewest, size.bits), most_bits = std::max(most_bits, size.bits);
      if (size.error > 0 && std::isfinite(size.error))
        least = std::min(least, size.error), most = std::max(most, size.error);
    }
  const double first = std::floor(fewest), last = std::max(first + 1, std::ceil(most_bits));
  const PowerScale scale = PowerScale::around(std::max(least, most * 1e-12), most, cost_top, cost_height);
  const auto x_of = [&](double bits) { return cost_left + cost_width * (bits - first) / (last - first); };
  std::string inside = scale.lines(cost_left, cost_width), path;
  const int wide = static_cast<int>(last - first), every = wide > 20 ? 2 : 1;
  for (int more = 0; more <= wide; more += every) {
    const double bits = first + more;
    inside += svg_line(x_of(bits), cost_top, x_of(bits), cost_top + cost_height, "grid");
    inside += svg_text(x_of(bits), cost_top + cost_height + 16, "middle", four_digits(bits));
  }
  inside += svg_text(cost_left + cost_width / 2, cost_top + cost_height + 34, "middle", "bits a parameter");
  for (const casting::PlannedSize& size : plans)
    path += (path.empty() ? "M" : "L") + svg_number(x_of(size.bits)) + " " + svg_number(scale.y(size.error));
  if (!path.empty()) inside += "<path class=\"plans\" d=\"" + path + "\"/>";
  const std::vector<std::string> types = file.types();
  NamePlaces names;
  std::string marks;  // above all labels, whose outlines would cover them
  for (const casting::PlannedSize& size : sizes) {
    const double x = x_of(size.bits), y = scale.y(size.error);
    const std::string words = svg_title(size.method + ": " + four_digits(size.bits) + " bits, " +
                                        with_commas(size.bytes) + " bytes, error " + four_digits(size.error));
    const std::size_t place = type_place(types, size.method);
    if (place < types.size())
      marks += svg_mark(place, x, y, words);
    else
      marks += "<circle class=\"chosen\" cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) + "\" r=\"7\">" +
               words + "</circle>";
    inside += names.put(x, y, size.method);
  }
  return svg_of("plot-sizes", cost_top + cost_height + 42, "Predicted error by size", inside + marks);
}

std::string plan_bar(const casting::CostFile& file, const casting::Plan& plan) {
  constexpr double bar_top = 6, bar_height = 46;
  double all = 0;
  for (const casting::LayerCost& layer : file.layers)
    if (plan.types.contains(layer.name)) all += static_cast<double>(layer.parameters.value_or(0));
  const std::vector<std::string> types = file.types();
  std::string inside, group, under;
  double x = cost_left, group_left = cost_left;
  const auto end_group = [&] {
    if (!group.empty() && x - group_left > 7.0 * static_cast<double>(group.size()))
      under += svg_text((group_left + x) / 2, bar_top + bar_height + 18, "middle", group);
  };
  for (const casting::LayerCost& layer : file.layers) {
    const auto planned = plan.types.find(layer.name);
    if (planned == plan.types.end() || all <= 0) continue;
    if (group_of(layer.name) != group) {
      end_group();
      group = group_of(layer.name);
      group_left = x;
    }
    const std::string& type = planned->second;
    const double width = cost_width * static_cast<double>(layer.parameters.value_or(0)) / all;
    inside +=
        svg_box(x, bar_top, width, bar_height,
                "class=\"planned\" fill=\"" + std::string(report_colour(type_place(types, type))) + "\"",
                svg_title(layer.name + ": " + type));
    // For colour-blind readers: a mark as well, where it fits.
    if (width >= 9) inside += svg_mark(type_place(types, type), x + width / 2, bar_top + bar_height / 2);
    x += width;
  }
  end_group();
  return svg_of("plan-bar", bar_top + bar_height + 26, "The format of each layer", inside + under);
}

}  // namespace precast::cli
