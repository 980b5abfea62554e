// precast experiment: numerical effects of the formats used in training, one demonstration each.
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <cli/commands.hpp>
#include <cli/experiment/experiment_text.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr std::string_view every_name = "all";

struct ExperimentOptions {
  std::string name, page;
  bool json = false;
};

void experiment(const ExperimentOptions& options) {
  std::vector<std::string_view> known(experiments::names().begin(), experiments::names().end());
  known.push_back(every_name);
  const std::string name = parse_name("experiment", options.name, known);
  const bool to_file = !options.page.empty() && !is_standard_output(options.page);
  if (!options.page.empty() && !to_file && options.json)
    throw UsageError("--json and --html - would both write to standard output: name a file for the page");
  check_page_name("--html", options.page);
  if (to_file) check_output_files(std::array{std::filesystem::path(options.page)});
  std::vector<experiments::Experiment> found;
  for (const std::string_view each : experiments::names())
    if (name == every_name || name == each) found.push_back(experiments::run(each));
  if (!options.page.empty()) {
    const std::string page = experiment_page(found);
    write_output(options.page, std::as_bytes(std::span(page)));
    if (!to_file) return;
  }
  if (options.json) {
    Json all = Json::array();
    for (const experiments::Experiment& each : found) all.push_back(experiment_json(each));
    print(Json{{"experiments", all}});
  } else {
    print(io::joined(found, "\n", experiment_text));
  }
  if (to_file) notes() << "wrote " << io::shown(options.page) << "\n";
}

}  // namespace

void add_experiment_command(CLI::App& app) {
  const auto options = std::make_shared<ExperimentOptions>();
  CLI::App* command = app.add_subcommand(
      "experiment", "What the formats of training do to numbers: a demonstration with its table and plot");
  std::string words;
  for (const std::string_view name : experiments::names()) words += std::string(name) + "|";
  command
      ->add_option(
          "name", options->name,
          "underflow: gradients that f16 flushes to zero. stagnation: a weight that does not move.\n"
          "softmax, softplus: formulas that overflow as they are written. accumulation: a thousand\n"
          "times 0.01. overflow: what leaves a format's range. loss-scaling: a backward pass in f16.\n"
          "all: every one of them")
      ->type_name(words + std::string(every_name))
      ->required();
  command->add_flag("--json", options->json,
                    "Tables, numbers of the sources and plotted lines as JSON on stdout");
  command
      ->add_option("--html", options->page,
                   "One page (HTML) to write, with explanations, plots and tables; - for standard output.\n"
                   "Default: none")
      ->type_name("FILE");
  command->footer(
      "Everything is computed by the library's own ops and conversions, in seconds, on any machine; where a\n"
      "source states a number, it stands beside what was computed (docs/experiments.md).\n"
      "\n"
      "Examples:\n"
      "  precast experiment accumulation                  # 10.0001, 9.9531, 10.0021\n"
      "  precast experiment loss-scaling --json\n"
      "  precast experiment all --html experiments.html   # with plots, light and dark");
  command->callback([options] { experiment(*options); });
}

}  // namespace precast::cli
