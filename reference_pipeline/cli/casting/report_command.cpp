// precast report: the values of a cost file, as a page for people or tables for programs.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <cli/casting/cost_measuring.hpp>
#include <cli/casting/cost_report.hpp>
#include <cli/casting/cost_table.hpp>
#include <cli/casting/measure_option.hpp>
#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <plots/table_text.hpp>

#include <precast/io/message.hpp>
#include <precast/io/suffix.hpp>

namespace precast::cli {

namespace {

constexpr std::array<std::string_view, 3> report_formats{"html", "markdown", "csv"};

struct ReportOptions {
  std::string cost, plan, output, format;
  casting::Measure measure = casting::Measure::cost;
  bool weighted = false;
};

/// The format of --format, else that of the output's suffix.
std::string format_of_page(const ReportOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::string suffix = io::suffix_of(options.output);
  for (const auto& [known, format] : {std::pair(".html", "html"), std::pair(".htm", "html"),
                                      std::pair(".md", "markdown"), std::pair(".csv", "csv")})
    if (suffix == known) return format;
  if (options.output.empty() || is_standard_output(options.output)) return "markdown";
  throw UsageError("--output is '" + options.output +
                   "': name it .html, .md or .csv, or say --format html, markdown or csv");
}

void write_report(const ReportOptions& options) {
  const std::string format = format_of_page(options);
  if (options.weighted && format != "csv")
    throw UsageError(
        "--weighted applies to --format csv only: the other formats have the weighted tables beside the "
        "plain ones");
  const bool to_file = !options.output.empty() && !is_standard_output(options.output);
  if (to_file) {
    const std::array outputs{std::filesystem::path(options.output)};
    check_output_files(outputs);
    check_inputs_stay(outputs, std::array<std::filesystem::path, 2>{options.cost, options.plan});
  }
  CostReport report;
  report.cost_path = options.cost;
  report.file = casting::read_cost_file(report.cost_path);
  warn_of_missing(report.cost_path, report.file, "report");
  report.measure = options.measure;
  if (!options.plan.empty()) {
    report.plan_path = options.plan;
    report.plan = casting::read_plan(report.plan_path);
  }
  const std::string text = format == "html"       ? cost_page(report)
                           : format == "markdown" ? cost_markdown(report)
                           : options.weighted
                               ? plots::as_csv(weighted_cost_table(report.file, report.measure))
                               : plots::as_csv(cost_table(report.file, report.measure));
  if (!to_file) return print(text);
  io::write_file(options.output, text);
  notes() << "wrote " << io::shown(options.output) << "\n";
}

}  // namespace

void add_report_command(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "What casting costs, layer by layer: a page with plots, or tables in Markdown or CSV");
  command
      ->add_option("--cost,-c", options->cost,
                   "What casting each layer to each format costs: a file that precast cost wrote")
      ->type_name("FILE")
      ->required();
  command->add_option("--plan", options->plan, "A plan that precast plan made from it, to be shown with it")
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--format",
          [options](const std::string& text) {
            options->format = parse_name("--format", text, report_formats);
          },
          "What to write; default: by the name of --output, and Markdown on standard output")
      ->type_name("html|markdown|csv");
  add_measure_option(*command, options->measure,
                     "The number that sizes and the plan are shown by, and that CSV holds; default cost");
  command->add_flag(
      "--weighted", options->weighted,
      "CSV of numbers over parameters: divided by the layer's parameters over the smallest layer's");
  command
      ->add_option("--output,-o", options->output,
                   "File to write: .html, .md or .csv; default: standard output")
      ->type_name("FILE");
  add_quiet_option(*command);
  command->footer(
      "The page is one file that needs no network: it can be sent, printed and kept.\n"
      "\n"
      "Examples:\n"
      "  precast report --cost cost.json --plan plan.json --output report.html\n"
      "  precast report --cost cost.json --format markdown\n"
      "  precast report --cost cost.json --measure relative_cost --weighted --output weighted.csv");
  command->callback([options] { write_report(*options); });
}

}  // namespace precast::cli
