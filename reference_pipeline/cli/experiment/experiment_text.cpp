#include <cli/experiment/experiment_text.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <cli/terminal/wrap.hpp>
#include <plots/cells.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

using experiments::Experiment;

std::vector<std::vector<std::string>> stated_of(const Experiment& experiment) {
  std::vector<std::vector<std::string>> rows{{"the source's number", "it states", "computed", "agrees"}};
  for (const experiments::Stated& stated : experiment.stated)
    rows.push_back(
        {stated.what, stated.number, plots::cell_text(stated.computed), stated.agrees() ? "yes" : "no"});
  return rows;
}

std::string stated_title(const Experiment& experiment) {
  return "Beside the numbers of " + experiment.source + " (docs/experiments.md says what that is):";
}

std::string section(const Experiment& experiment) {
  std::string text = "<h2 id=\"" + experiment.name + "\">" + html_text(experiment.title) + "</h2>\n<p>" +
                     html_text(experiment.explanation) + "</p>\n<p class=\"soft\">" +
                     html_text(experiment.plot.title) + "</p>\n" + line_legend(experiment.plot) +
                     "<div class=\"scroll\">" + line_plot(experiment.name + "-plot", experiment.plot) +
                     "</div>\n" + html_table(plots::text_rows(experiment.table));
  if (!experiment.stated.empty())
    text += "<p class=\"soft\">" + html_text(stated_title(experiment)) + "</p>\n" +
            html_table(stated_of(experiment));
  return text;
}

}  // namespace

std::string experiment_text(const Experiment& experiment) {
  std::string text = experiment.name + ": " + experiment.title + "\n\n";
  for (const std::string& line : wrapped(experiment.explanation, help_columns())) text += line + "\n";
  text += "\n" + aligned(plots::text_rows(experiment.table));
  if (!experiment.stated.empty())
    text += "\n" + stated_title(experiment) + "\n" + aligned(stated_of(experiment));
  return text;
}

Json experiment_json(const Experiment& experiment) {
  Json rows = Json::array(), stated = Json::array(), lines = Json::array();
  for (const auto& row : experiment.table.rows) {
    Json object;
    for (std::size_t i = 0; i < row.size(); ++i)
      object[experiment.table.columns[i]] = plots::cell_json(row[i]);
    rows.push_back(object);
  }
  for (const experiments::Stated& number : experiment.stated)
    stated.push_back({{"what", number.what},
                      {"source", number.number},
                      {"computed", json_number(number.computed)},
                      {"agrees", number.agrees()}});
  for (const plots::Line& line : experiment.plot.lines) {
    Json x = Json::array(), y = Json::array();
    for (const double value : line.x) x.push_back(json_number(value));
    for (const double value : line.y) y.push_back(json_number(value));
    lines.push_back({{"name", line.name}, {"x", x}, {"y", y}});
  }
  return {{"name", experiment.name},
          {"title", experiment.title},
          {"explanation", experiment.explanation},
          {"source", experiment.source},
          {"table", rows},
          {"stated", stated},
          {"plot",
           {{"title", experiment.plot.title},
            {"x", experiment.plot.x_name},
            {"y", experiment.plot.y_name},
            {"lines", lines}}}};
}

std::string experiment_page(std::span<const Experiment> all) {
  std::string page =
      "<h1>What the formats of training do to numbers</h1>\n<p class=\"soft\">Computed by "
      "precast " PRECAST_VERSION
      " as this page was written; its conversions and ops round as the tables say.</p>\n";
  if (all.size() > 1) {
    const auto link = [](const Experiment& experiment) {
      return "<a href=\"#" + experiment.name + "\">" + html_text(experiment.name) + "</a>";
    };
    page += "<p>" + io::joined(all, " · ", link) + "</p>\n";
  }
  for (const Experiment& experiment : all) page += section(experiment);
  return html_page(all.size() == 1 ? all.front().title + " – precast experiment" : "precast experiment",
                   "a { color: inherit; }", page);
}

}  // namespace precast::cli
