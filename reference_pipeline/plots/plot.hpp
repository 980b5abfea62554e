// Plot and Table: the data of plots and tables, independent of how they are drawn.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace precast::plots {

/// A cell of a table: words, a number, or yes and no.
using Cell = std::variant<std::string, double, bool>;

/// Columns by name, and rows of as many cells.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

/// A table's cells as texts, row by row; the first row has the names of the columns.
using TextRows = std::vector<std::vector<std::string>>;

/// A line of a plot: as many x as y. NaN is a gap, infinity a cross at the edge.
struct Line {
  std::string name;
  std::vector<double> x, y;
};

/// A named mark on the x axis.
struct Place {
  std::string name;
  double x;
};

/// Lines over one pair of axes, each linear or logarithmic.
struct Plot {
  std::string title, x_name, y_name;
  bool powers_of_x = false, powers_of_y = false;
  std::vector<Line> lines = {};
  std::vector<Place> places = {};
};

}  // namespace precast::plots
