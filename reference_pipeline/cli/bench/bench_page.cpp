#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include <cli/bench/bench_page.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <plots/cells.hpp>

#include <precast/io/counted.hpp>

namespace precast::cli {

namespace {

using plots::Line;
using plots::Plot;
using plots::Table;

/// A plot of one column over another.
struct PlottedColumns {
  std::string_view title, x, y;
};
constexpr PlottedColumns plots[] = {
    {"Forward pass", "context_length", "fwd avg (sec)"},
    {"Forward and backward pass", "context_length", "fwd & back avg (sec)"},
    {"Backward pass", "context_length", "back avg (sec)"},
    {"Optimiser", "context_length", "optimizer avg (sec)"},
    {"Memory held before the backward pass", "context_length", "memory before back (MiB)"},
    {"Memory", "context_length", "memory (MiB)"},
    {"The first steps: deviation by steps of warm-up", "warmup", "fwd & back std (sec)"}};

/// Columns whose values identify a line of a plot; a table may lack some of them.
constexpr std::string_view kinds[] = {"model",   "head_width", "attention",     "policy",
                                      "variant", "warmup",     "context_length"};

std::size_t column_of(const Table& table, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
}

/// Whether a column has more than one value.
bool differs(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows,
                             [&](const auto& row) { return row[column] != table.rows.front()[column]; });
}

/// Adds to `left_out` the number of values that the plot cannot show.
Plot plot_of(const Table& table, const PlottedColumns& axes, std::size_t& left_out) {
  Plot plot{.title = std::string(axes.title),
            .x_name = std::string(axes.x),
            .y_name = std::string(axes.y),
            .powers_of_x = axes.x != "warmup",
            .powers_of_y = true};
  const std::size_t x = column_of(table, axes.x), y = column_of(table, axes.y);
  if (x == table.columns.size() || y == table.columns.size()) return plot;
  for (const auto& row : table.rows) {
    const auto* const across = std::get_if<double>(&row[x]);
    const auto* const upwards = std::get_if<double>(&row[y]);
    if (!across || !upwards) continue;
    if (!(*upwards > 0)) {  // has no logarithm
      ++left_out;
      continue;
    }
    std::string name;
    for (const std::string_view kind : kinds) {
      const std::size_t column = column_of(table, kind);
      if (kind == axes.x || column == table.columns.size() || !differs(table, column)) continue;
      name += (name.empty() ? "" : ", ") +
              (kind == "warmup"           ? "warm-up "
               : kind == "context_length" ? "context "
                                          : std::string()) +
              plots::cell_text(row[column]);
    }
    auto line = std::ranges::find(plot.lines, name, &Line::name);
    if (line == plot.lines.end()) line = plot.lines.insert(line, Line{name, {}, {}});
    line->x.push_back(*across);
    line->y.push_back(*upwards);
  }
  return plot;
}

/// Landscape, so that a table of twenty columns fits on a printed page.
constexpr std::string_view bench_style = R"css(
@media print { @page { size: landscape; } th, td { font-size: 8px; padding: 2px 5px 2px 0; } }
)css";

}  // namespace

std::string bench_page(const timing::Results& results) {
  const Table& table = results.table;
  std::string body = "<h1>precast bench " + html_text(results.benchmark) + "</h1>\n<p class=\"soft\">" +
                     html_text(results.settings) + "</p>\n";
  std::size_t number = 0;
  for (const PlottedColumns& axes : plots) {
    std::size_t left_out = 0;
    const Plot plot = plot_of(table, axes, left_out);
    const bool has_line = std::ranges::any_of(plot.lines, [](const Line& line) { return line.x.size() > 1; });
    if ((plot.lines.empty() && left_out == 0) || (axes.x == "warmup" && !has_line)) continue;
    body += "<h2>" + html_text(axes.title) + "</h2>\n";
    if (!plot.lines.empty())
      body += line_legend(plot) + "<div class=\"scroll\">" +
              line_plot("plot-" + std::to_string(number++), plot) + "</div>\n";
    if (left_out > 0)
      body += "<p class=\"soft\">Not in the plot, whose scale is of powers of ten: " +
              io::counted(static_cast<std::int64_t>(left_out), "value") +
              " of 0 or below, which the table has.</p>\n";
  }
  body += "<h2>Table</h2>\n" + html_table(plots::text_rows(table));
  return html_page("precast bench " + results.benchmark, bench_style, body);
}

}  // namespace precast::cli
