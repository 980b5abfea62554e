#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <casting/planner.hpp>
#include <cli/casting/cost_plots.hpp>
#include <cli/casting/cost_report.hpp>
#include <cli/casting/cost_table.hpp>
#include <cli/casting/plan_table.hpp>
#include <cli/options/auto_preset.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/svg.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/output.hpp>
#include <plots/table_text.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

using casting::Measure;

constexpr std::string_view cost_style = R"css(
.plans { fill: none; stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 3; }
.chosen { fill: none; stroke: var(--limit); stroke-width: 2.5; }
.planned { stroke: var(--paper); stroke-width: 1; }
td.layer { font-family: ui-monospace, monospace; font-size: 13px; }
.numbers td, .numbers th { padding: 2px 10px 2px 4px; font-size: 13px; }
)css";

/// Describes the values of a measure.
std::string_view measure_words(Measure measure) {
  switch (measure) {
    case Measure::cost:
      return "Mean squared error of the hidden state after the last block, with this layer alone cast";
    case Measure::loss:
      return "Mean squared error of the layer's own output";
    case Measure::relative_cost:
      return "The cost over the mean square of that hidden state";
    case Measure::relative_loss:
      return "The loss over the mean square of that output";
    case Measure::estimate:
      return "Squared errors of weights times the mean squares of their columns' inputs, summed, and how "
             "well that orders the layers as measured (Spearman's rank correlation: 1 "
             "is the same order)";
  }
  return "";
}

std::string name_of(Measure measure) {
  std::string name(to_string(measure));
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<Measure> measures_of(const casting::CostFile& file) {
  std::vector<Measure> found;
  for (const casting::NamedMeasure& one : casting::named_measures)
    if (std::ranges::any_of(file.layers, [&](const casting::LayerCost& layer) {
          return std::ranges::any_of(layer.types,
                                     [&](const auto& type) { return (type.second.*one.number).has_value(); });
        }))
      found.push_back(one.measure);
  return found;
}

bool has_parameters(const casting::CostFile& file) {
  return std::ranges::all_of(file.layers,
                             [](const casting::LayerCost& layer) { return layer.parameters.has_value(); });
}

std::string html_cost_table(const plots::TextRows& table) {
  std::string text = "<div class=\"scroll\"><table class=\"numbers\"><thead>";
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char* const cell = i < 2 ? "th" : "td";
    text += i == 2 ? "</thead><tbody>\n<tr>" : "<tr>";
    for (std::size_t column = 0; column < table[i].size(); ++column)
      text += std::string("<") + cell + (column ? " class=\"number\">" : " class=\"layer\">") +
              html_text(table[i][column]) + "</" + cell + ">";
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

/// A note for logarithmic plots on where a 0 is drawn.
std::string zero_words(bool any) { return any ? " A 0 lies on the lowest line." : ""; }

bool has_zero(const casting::CostFile& file, Measure measure) {
  return std::ranges::any_of(file.layers, [&](const casting::LayerCost& layer) {
    return std::ranges::any_of(
        layer.types, [&](const auto& type) { return casting::value_of(type.second, measure) == 0.0; });
  });
}

std::string measure_section(const casting::CostFile& file, Measure measure) {
  return "<h2>The " + name_of(measure) + " of each layer</h2>\n<p class=\"soft\">" +
         std::string(measure_words(measure)) + ". A cross is a number that is not finite." +
         zero_words(has_zero(file, measure)) + " Hover over a layer to read its numbers.</p>\n" +
         types_legend(file) + "<div class=\"scroll\">" + measure_plot(file, measure) + "</div>\n";
}

/// The best plan of sizes from the smallest format to the largest, and all uniform formats.
struct Sizes {
  std::vector<casting::PlannedSize> plans, uniform;
};

Sizes sizes_of(const CostReport& report) {
  constexpr int steps = 48;
  Sizes sizes;
  casting::PlanRequest request;
  // Includes formats that this build does not have.
  for (const std::string& type : report.file.types())
    if (has_number(report.file, type, report.measure)) request.types.push_back(type);
  request.measure = report.measure;
  request.limits.seconds = 1;
  request.limits.poll = [] { throw_if_interrupted(); };
  request.bits = 64;
  const casting::PlanResult largest = make_plan(report.file, report.cost_path, request);
  for (const casting::PlannedSize& size : largest.sizes)
    if (size.method != "plan" && size.method != "greedy") sizes.uniform.push_back(size);
  request.bits = std::nullopt;
  request.error = std::numeric_limits<double>::max();
  const double least = *make_plan(report.file, report.cost_path, request).plan.bits;
  request.error = std::nullopt;
  for (int step = 0; step <= steps; ++step) {
    const double bits = least + (*largest.plan.bits - least) * step / steps;
    request.budget = std::llround(bits * static_cast<double>(largest.parameters) / 8);
    sizes.plans.push_back(make_plan(report.file, report.cost_path, request).sizes.front());
  }
  return sizes;
}

std::string sizes_section(const CostReport& report) {
  std::string text = "<h2>Size against predicted error</h2>\n";
  Sizes sizes;
  try {
    sizes = sizes_of(report);
  } catch (const InputError& problem) {
    return text + "<p class=\"advice\">Nothing can be planned from this file: " + html_text(problem.what()) +
           "</p>\n";
  }
  std::vector<casting::PlannedSize> marked = sizes.uniform;
  if (report.plan)
    marked.push_back(size_of_plan(report.file, *report.plan, report.plan_path, report.measure));
  const auto is_zero = [](const casting::PlannedSize& size) { return size.error == 0; };
  return text + "<p class=\"soft\">The predicted error is the sum of the layers' numbers (" +
         name_of(report.measure) + "). Marks: one format in all layers. Dashed: the best plan of each size." +
         zero_words(std::ranges::any_of(sizes.plans, is_zero) || std::ranges::any_of(marked, is_zero)) +
         "</p>\n<div class=\"scroll\">" + size_plot(report.file, sizes.plans, marked) + "</div>\n";
}

std::string plan_section(const CostReport& report) {
  const casting::PlannedSize size = size_of_plan(report.file, *report.plan, report.plan_path, report.measure);
  return "<h2>The plan</h2>\n<p class=\"soft\">" + html_text(types_in_words(*report.plan)) + ": " +
         four_digits(size.bits) + " bits a parameter, " + with_commas(size.bytes) + " bytes (" +
         in_bytes(size.bytes) + "), predicted error " + four_digits(size.error) +
         ". Layers are as wide as their parameters.</p>\n" + types_legend(report.file) +
         "<div class=\"scroll\">" + plan_bar(report.file, *report.plan) + "</div>\n";
}

std::string report_facts(const CostReport& report) {
  std::int64_t parameters = 0;
  for (const casting::LayerCost& layer : report.file.layers) parameters += layer.parameters.value_or(0);
  std::string text = io::counted(std::ssize(report.file.layers), "layer") + ", " +
                     io::counted(std::ssize(report.file.types()), "format");
  if (has_parameters(report.file)) text += ", " + with_commas(parameters) + " parameters";
  if (report.file.samples)
    text += ", " + with_commas(*report.file.samples) + (*report.file.samples == 1 ? " sample" : " samples");
  return text;
}

std::string title_of(const CostReport& report) {
  return "What casting " + io::printable(report.file.model.value_or("a model")) + " costs";
}

}  // namespace

std::string cost_page(const CostReport& report) {
  std::string body = "<h1>" + html_text(title_of(report)) + "</h1>\n<p class=\"soft\">" +
                     html_text(report_facts(report)) + "; precast " PRECAST_VERSION "</p>\n";
  if (report.plan) body += plan_section(report);
  const std::vector<Measure> measures = measures_of(report.file);
  for (const Measure measure : measures)
    if (measure == Measure::cost || measure == Measure::loss || measure == report.measure)
      body += measure_section(report.file, measure);
  body += sizes_section(report);
  for (const Measure measure : measures) {
    body += "<h2>Table: " + name_of(measure) + "</h2>\n<p class=\"soft\">" +
            std::string(measure_words(measure)) + ".</p>\n" +
            html_cost_table(cost_table(report.file, measure));
    if (has_parameters(report.file))
      body += "<h2>Table: " + name_of(measure) +
              ", weighted by parameters</h2>\n<p class=\"soft\">Divided by the layer's parameters over those "
              "of the "
              "smallest layer: what a parameter of it costs.</p>\n" +
              html_cost_table(weighted_cost_table(report.file, measure));
  }
  return html_page(title_of(report), cost_style, body);
}

std::string cost_markdown(const CostReport& report) {
  std::string text = "# " + plots::markdown_text(title_of(report)) + "\n\n" + report_facts(report) + "\n";
  if (report.plan) {
    const casting::PlannedSize size =
        size_of_plan(report.file, *report.plan, report.plan_path, report.measure);
    text += "\n## The plan\n\n" + types_in_words(*report.plan) + ": " + four_digits(size.bits) +
            " bits a parameter, " + with_commas(size.bytes) + " bytes, predicted error (" +
            name_of(report.measure) + ") " + four_digits(size.error) + "\n";
  }
  for (const Measure measure : measures_of(report.file)) {
    text += "\n## " + name_of(measure) + "\n\n" + std::string(measure_words(measure)) + ".\n\n" +
            plots::as_markdown(cost_table(report.file, measure));
    if (has_parameters(report.file))
      text += "\n## " + name_of(measure) + ", weighted by parameters\n\n" +
              plots::as_markdown(weighted_cost_table(report.file, measure));
  }
  return text;
}

}  // namespace precast::cli
