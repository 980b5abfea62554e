#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <cli/pages/html.hpp>
#include <cli/pages/svg.hpp>

#include <precast/io/number_text.hpp>

namespace precast::cli {

std::string_view report_colour(std::size_t place) {
  // The first eight are distinguishable for colour-blind readers too; marks distinguish the rest.
  static constexpr std::array<std::string_view, 12> colours{"#7a7a7a", "#0072b2", "#d55e00", "#009e73",
                                                            "#cc79a7", "#e69f00", "#56b4e9", "#8c5a2b",
                                                            "#7b5cd6", "#b0305c", "#6b8e23", "#2f4f8f"};
  return colours[place % colours.size()];
}

std::string report_key(std::size_t place) {
  return "<svg class=\"key\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">" + svg_mark(place, 0, 0) +
         "</svg>";
}

std::string svg_number(double value) { return io::fixed(value, 1); }

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) +
         "\" x2=\"" + svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\"/>";
}

std::string svg_text(double x, double y, std::string_view anchor, const std::string& text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\">" + html_text(text) + "</text>";
}

std::string svg_box(double x, double y, double width, double height, const std::string& attributes,
                    const std::string& inside) {
  return "<rect " + attributes + " x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" +
         svg_number(width) + "\" height=\"" + svg_number(height) + "\"" +
         (inside.empty() ? "/>" : ">" + inside + "</rect>");
}

std::string svg_title(const std::string& text) { return "<title>" + html_text(text) + "</title>"; }

std::string svg_mark(std::size_t place, double x, double y, const std::string& inside) {
  static constexpr std::array<std::string_view, 5> shapes{"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
                                                          "m-3.5-3.5h7v7h-7z", "m0-4.8l4.6 8h-9.2z",
                                                          "m0-5l5 5l-5 5l-5-5z", "m0 4.8l4.6-8h-9.2z"};
  return "<path class=\"mark\" fill=\"" + std::string(report_colour(place)) + "\" d=\"M" + svg_number(x) +
         " " + svg_number(y) + std::string(shapes[place % shapes.size()]) +
         (inside.empty() ? "\"/>" : "\">" + inside + "</path>");
}

std::string svg_cross(std::size_t place, double x, double bottom) {
  constexpr std::size_t rows = 3;
  constexpr double side = 8, apart = 6;
  return "<path class=\"non-finite\" stroke=\"" + std::string(report_colour(place)) + "\" d=\"M" +
         svg_number(x - side / 2) + " " +
         svg_number(bottom - side - apart * static_cast<double>(place % rows)) + "l8 8m0 -8l-8 8\"/>";
}

namespace {

/// Scales shorter than this, in powers of ten, have lines at 2 and 5 times powers, too.
constexpr double short_scale = 3;
/// And scales shorter than this at every multiple: two lines alone do not show a logarithmic scale.
constexpr double shortest_scale = 0.8;

enum class RoundPower : std::uint8_t { down, up };

/// 1, 2 or 5 times a power of ten: the largest not above 10^power, or the smallest not below it.
double rounded(double power, RoundPower where) {
  constexpr double slack = 1e-9;  // log10 of a power may have a rounding error
  const double whole = std::floor(power + slack);
  double below = whole;
  for (const double step : {0.0, std::log10(2.0), std::log10(5.0), 1.0}) {
    if (where == RoundPower::up && whole + step >= power - slack) return whole + step;
    if (whole + step <= power + slack) below = whole + step;
  }
  return below;
}

}  // namespace

PowerScale PowerScale::around(double least, double most, double top, double height) {
  if (!(least > 0 && most >= least)) least = most = 1;
  const double low = std::log10(least), high = std::log10(most);
  PowerScale scale{std::floor(low), std::ceil(high), top, height};
  if (scale.highest - scale.lowest < short_scale)
    scale.lowest = rounded(low, RoundPower::down), scale.highest = rounded(high, RoundPower::up);
  if (scale.highest - scale.lowest < std::log10(2.0))
    scale.highest = rounded(scale.lowest + 0.2, RoundPower::up);
  return scale;
}

double PowerScale::y(double value) const {
  const double power = std::log10(std::max(value, 1e-300));
  const double part = (power - lowest) / (highest - lowest);
  return top + height * (1 - std::clamp(part, 0.0, 1.0));
}

std::string PowerScale::lines(double left, double width) const {
  std::string text;
  const double length = highest - lowest;
  const int every = std::max(1, static_cast<int>(length) / 8);
  for (int power = static_cast<int>(std::floor(lowest)); power <= highest + 0.01; power += every)
    for (int times = 1; times < 10; ++times) {
      const double value = times * std::pow(10.0, power), at = std::log10(value);
      const double longest = times == 1                 ? length + 1
                             : times == 2 || times == 5 ? short_scale
                                                        : shortest_scale;
      if (length >= longest || at < lowest - 0.01 || at > highest + 0.01) continue;
      text += svg_line(left, y(value), left + width, y(value), "grid");
      char label[32];
      const bool plain = power >= -3 && power <= 5;
      std::snprintf(label, sizeof label, plain ? "%.*f" : "%.*e", plain ? std::max(0, -power) : 0, value);
      text += svg_text(left - 8, y(value) + 4, "end", label);
    }
  return text;
}

}  // namespace precast::cli
