// Lines, marks, texts and scales of plots, in SVG.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace precast::cli {

/// The colour of a line or a dot, by its place among the others; twelve, then again from the first.
std::string_view report_colour(std::size_t place);

/// The mark of a line, for a legend: an SVG of the class "key".
std::string report_key(std::size_t place);

/// "12.3": a coordinate.
std::string svg_number(double value);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view kind);
/// `anchor` is start, middle or end.
std::string svg_text(double x, double y, std::string_view anchor, const std::string& text);
/// A rectangle; `inside` stands in it, such as a title.
std::string svg_box(double x, double y, double width, double height, const std::string& attributes,
                    const std::string& inside = "");
/// "<title>": shown where a pointer rests.
std::string svg_title(const std::string& text);
/// A mark whose middle is at this place. Shapes take turns as colours do, with another period.
std::string svg_mark(std::size_t place, double x, double y, const std::string& inside = "");
/// The cross of what is not finite above a plot, in the colour of its line. Those of each of three lines have
/// a row of their own, so that none hides another's; the lowest ends at `bottom`.
std::string svg_cross(std::size_t place, double x, double bottom);

/// A logarithmic scale from the bottom of a plot to its top.
struct PowerScale {
  double lowest, highest;  ///< powers of ten at its ends
  double top, height;      ///< of the plot

  /// The scale that has room for these positive values, of 1 where there are none. It ends at powers of ten,
  /// or where it would be shorter than three of them at 1, 2 or 5 times such.
  static PowerScale around(double least, double most, double top, double height);
  /// Where a value lies; what is outside lies at the edge.
  double y(double value) const;
  /// Lines across a plot with their values at its left.
  std::string lines(double left, double width) const;
};

}  // namespace precast::cli
