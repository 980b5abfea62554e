// precast cost: the error that casting each layer to each format causes, measured one layer at a time.
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <casting/merge_costs.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/casting/cost_table.hpp>
#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <plots/table_text.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

void show(const CostOptions& options, const casting::CostFile& file) {
  if (options.json) return print(casting::cost_file_text(file));
  plots::TextRows table =
      options.weighted ? weighted_cost_table(file, options.measure) : cost_table(file, options.measure);
  if (options.markdown) return print(plots::as_markdown(table));
  if (options.csv) return print(plots::as_csv(table));
  for (auto& row : table)
    for (std::string& cell : row) cell = io::printable(cell, cell.size());
  print(aligned(table, "lr"));
}

/// Whether merged costs are written to a file: those of a single input are only shown, unless --output is
/// given.
bool merge_is_written(const CostOptions& options) {
  return options.output_option->count() > 0 || options.merge->count() > 1;
}

/// Throws if a merge would overwrite a file under the default name that is not one of the merged files.
void check_usual_output(const CostOptions& options) {
  if (options.output_option->count() > 0 || !io::is_there(options.output)) return;
  std::error_code ignored;
  for (const std::string& name : options.merge->results())
    if (std::filesystem::equivalent(name, options.output, ignored)) return;
  throw UsageError(options.output +
                   " already exists, and is not one of the files to merge: name another file with --output");
}

void merge(const CostOptions& options) {
  check_each_file_once(options.merge->results());
  std::vector<casting::NamedCosts> files;
  for (const std::string& name : options.merge->results())
    files.push_back({name, casting::read_cost_file(name)});
  const casting::CostFile merged = casting::merge_costs(files);
  const bool writes = merge_is_written(options);
  if (writes) {
    check_usual_output(options);
    casting::write_cost_file(options.output, merged);
  }
  show(options, merged);
  if (writes) notes() << "wrote " << io::shown(options.output) << "\n";
  if (!merged.missing.empty())
    print_warnings({"--merge: no file has " + missing_text(merged) +
                    ": add the parts that have them, and measure again what was interrupted"});
}

void cost(CostOptions& options) {
  check_ranks(options.part);
  check_names_file("--output", options.output, "the numbers");
  options.output = file_of(options.part, options.output);
  const std::array files{std::filesystem::path(options.output)};
  const bool merging = options.merge->count() > 0;
  if (!merging || merge_is_written(options)) check_output_files(files);
  if (merging) return merge(options);
  if (options.only_estimates && options.measure_option->count() == 0)
    options.measure = casting::Measure::estimate;  // there may be only estimates to show
  show(options, measured_costs(options));
  notes() << "wrote " << io::shown(options.output) << "\n";
}

}  // namespace

void add_cost_command(CLI::App& app) {
  const auto options = std::make_shared<CostOptions>();
  CLI::App* command = app.add_subcommand(
      "cost", "Measures what each layer of a model in each format costs, one layer at a time");
  add_cost_options(*command, *options);
  command->callback([options, command] {
    static constexpr std::string_view of_merging[] = {"--merge",    "--output", "--measure", "--weighted",
                                                      "--markdown", "--csv",    "--json",    "--quiet"};
    if (options->merge->count() > 0) check_merge_alone(*command, of_merging);
    cost(*options);
  });
}

}  // namespace precast::cli
