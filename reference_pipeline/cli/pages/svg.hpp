// Lines, marks, texts and scales of plots, as SVG.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace precast::cli {

/// The colour of the line or dot with index `place`; twelve colours, repeated.
std::string_view report_colour(std::size_t place);

/// The mark of a line for a legend: an SVG of the class "key".
std::string report_key(std::size_t place);

/// A coordinate: "12.3".
std::string svg_number(double value);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view kind);
/// `anchor` is start, middle or end.
std::string svg_text(double x, double y, std::string_view anchor, const std::string& text);
/// A rectangle; `inside` is its content, such as a title.
std::string svg_box(double x, double y, double width, double height, const std::string& attributes,
                    const std::string& inside = "");
/// "<title>": a tooltip.
std::string svg_title(const std::string& text);
/// A mark centred at (x, y). Shapes repeat like colours, with another period.
std::string svg_mark(std::size_t place, double x, double y, const std::string& inside = "");
/// A cross for a non-finite value above a plot, in the colour of its line. Lines alternate between three
/// rows, so that crosses rarely overlap; the lowest row ends at `bottom`.
std::string svg_cross(std::size_t place, double x, double bottom);

/// A logarithmic scale from the bottom of a plot to its top.
struct PowerScale {
  double lowest, highest;  ///< log10 at both ends
  double top, height;      ///< of the plot

  /// The scale for positive values from `least` to `most`; for 1 if there are none. It ends at powers of
  /// ten, or, if shorter than three of them, at 1, 2 or 5 times a power.
  static PowerScale around(double least, double most, double top, double height);
  /// The y coordinate of a value, clamped to the plot.
  double y(double value) const;
  /// Horizontal lines with their values on the left.
  std::string lines(double left, double width) const;
};

}  // namespace precast::cli
