// precast cost: what each layer in each format costs, measured one layer at a time.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <casting/cost_table.hpp>
#include <casting/merge_costs.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/casting/measure_option.hpp>
#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

void show(const CostOptions& options, const casting::CostFile& file) {
  if (options.json) return print(casting::cost_file_text(file));
  casting::CostTable table = options.weighted ? casting::weighted_cost_table(file, options.measure)
                                              : casting::cost_table(file, options.measure);
  if (options.markdown) return print(casting::as_markdown(table));
  if (options.csv) return print(casting::as_csv(table));
  for (auto& row : table.rows)
    for (std::string& cell : row) cell = io::printable(cell, cell.size());
  print(aligned(table.rows, "lr"));
}

/// Whether the merged numbers are written: those of a single file are only shown, unless --output says
/// where to.
bool merge_is_written(const CostOptions& options) {
  return options.output_option->count() > 0 || options.merge->count() > 1;
}

/// Hours of measuring are not replaced under a name that nobody gave.
void check_usual_output(const CostOptions& options) {
  if (options.output_option->count() > 0 || !io::is_there(options.output)) return;
  std::error_code ignored;
  for (const std::string& name : options.merge->results())
    if (std::filesystem::equivalent(name, options.output, ignored)) return;
  throw UsageError(options.output +
                   " is there already, and is none of the files to merge: say where to with --output");
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
    tell_warnings({"--merge: no file has " + missing_text(merged) +
                   ": add the parts that have them, and measure again what was interrupted"});
}

void cost(CostOptions& options) {
  options.part.check_ranks();
  check_names_file("--output", options.output, "the numbers");
  if (options.part.names_files) options.output = part_file(options.output, options.part.shard);
  const std::array files{std::filesystem::path(options.output)};
  const bool merging = options.merge->count() > 0;
  if (!merging || merge_is_written(options)) check_output_files(files);
  if (merging) return merge(options);
  if (options.only_estimates && options.measure_option->count() == 0)
    options.measure = casting::Measure::estimate;  // there may be nothing else to show
  show(options, measured_costs(options));
  notes() << "wrote " << io::shown(options.output) << "\n";
}

void add_measuring_options(CLI::App& command, CostOptions& options) {
  add_model_option(command, options.model);
  add_component_options(command, options.component_files);
  command.add_option("--samples", options.samples, "What `precast record` wrote: the inputs to measure on")
      ->type_name("FILE");
  command
      .add_option("--types", options.types,
                  "Formats, with commas between: scalars such as fp8_e4m3, and those of docs/quantisation.md")
      ->type_name("TYPE,...")
      ->capture_default_str();
  command
      .add_option(
          "--patch", options.patch,
          "A .gguf file of the same model, each layer of which is measured too, biases as it has them; "
          "its column is named TYPE*, after the type that most of it has")
      ->type_name("FILE");
  command
      .add_option("--layers", options.layers,
                  "Blocks to measure, from 0, double ones first: 0-18,20; default: all")
      ->type_name("LIST");
  command
      .add_option_function<std::string>(
          "--granularity",
          [&](const std::string& text) {
            options.granularity = parse_name("--granularity", text, granularities) == "matrix"
                                      ? casting::Granularity::matrix
                                      : casting::Granularity::layer;
          },
          "What is cast at a time: a whole block (default), or one of its matrices")
      ->type_name("layer|matrix");
  command
      .add_option("--importance", options.importance,
                  "What `precast record --importance` wrote: every number gets an estimate beside it, the "
                  "sum of the squared errors of matrices' columns times the mean squares of their inputs; "
                  "--measure estimate shows it, and how well it agrees")
      ->type_name("FILE");
  command.add_flag("--estimates-only", options.only_estimates,
                   "Runs nothing: only the estimates of --importance; --samples is not needed");
  add_integer(
      command, "--jobs", options.jobs, 1, 1024,
      "Layers that are measured at once, each on one thread with a load of the model of its own, as far "
      "as memory allows; default 1, which has all threads. No number depends on it");
  command.add_flag("--biases", options.biases, "Casts biases too; without it they stay as they are");
  add_shard_option(
      command, options.part,
      "Every Nth of the layers, beginning with the Ith, from 1: for N machines, whose files --merge puts "
      "together; auto: as the task of a Slurm array or the rank of mpirun that this process is, into "
      "--output with -I-of-N in its name");
  command
      .add_option("--policy", options.policy,
                  "The policy that the model runs under: a preset or a precision, with +flash and the like")
      ->type_name(policy_names())
      ->capture_default_str();
  add_device_option(command, options.device);
  add_threads_option(command, options.threads, "no number depends on them");
}

}  // namespace

void add_cost_command(CLI::App& app) {
  const auto options = std::make_shared<CostOptions>();
  CLI::App* command = app.add_subcommand(
      "cost", "Measures what each layer of a model in each format costs, one layer at a time");
  add_measuring_options(*command, *options);
  // Bound to no variable, as --prompt is.
  options->merge =
      command
          ->add_option("--merge",
                       "Puts cost files of one measurement together, in place of measuring; of one "
                       "file, shows its table and writes nothing without --output")
          ->type_name("FILE...")
          ->take_all();
  options->output_option =
      command
          ->add_option(
              "--output,-o", options->output,
              "Cost file (JSON) to write, anew after each layer; where it is there, what it has is not "
              "measured again")
          ->type_name("FILE")
          ->capture_default_str();
  options->measure_option = add_measure_option(
      *command, options->measure,
      "What the table shows. cost (default): mean squared error of all tokens after the last block; loss: "
      "the same of the layer's own output; relative: over the mean square of what is compared with; estimate "
      "(default with --estimates-only): --importance's, with its rank correlation with what was measured");
  CLI::Option* weighted = command->add_flag(
      "--weighted", options->weighted,
      "The table for each parameter: over the layer's parameters, in those of the smallest layer");
  CLI::Option* markdown = command->add_flag("--markdown", options->markdown, "The table as Markdown");
  CLI::Option* csv = command->add_flag("--csv", options->csv, "The table as CSV")->excludes(markdown);
  command->add_flag("--json", options->json, "The cost file on stdout in place of a table")
      ->excludes(markdown)
      ->excludes(csv)
      ->excludes(weighted);
  add_quiet_option(*command);
  command->footer(
      "The matrices of one layer at a time are encoded to a format and decoded again; norm scales and what "
      "is outside of\n"
      "blocks stay. Each run starts at that layer. Rows that a format's blocks do not divide take the "
      "format that convert\n"
      "takes, and \"bits\" says what was taken. Interrupted or killed, the same command goes on with the "
      "next layer.\n"
      "\n"
      "Examples:\n"
      "  precast record --prompt \"a large red circle on a blue background, at the left\" \"a small blue "
      "star on a white background, at the top\" --every 5\n"
      "  precast cost --samples samples.safetensors --types q8_0,q5_1,q4_0\n"
      "  precast cost --samples samples.safetensors --types q4_k --patch flux1-dev-q4_k.gguf --output "
      "patched.json\n"
      "  precast cost --model ~/FLUX.1-dev --samples dev.safetensors --shard 1/2 --output cost-1.json\n"
      "  precast cost --samples samples.safetensors --importance importance.gguf --measure estimate\n"
      "  precast cost --samples samples.safetensors --jobs 8\n"
      "  mpirun -n 4 precast cost --samples dev.safetensors --shard auto --threads 1\n"
      "  precast cost --merge cost-1.json cost-2.json --output cost.json --weighted --markdown");
  command->callback([options, command] {
    static constexpr std::string_view of_merging[] = {"--merge",    "--output", "--measure", "--weighted",
                                                      "--markdown", "--csv",    "--json",    "--quiet"};
    if (options->merge->count() > 0) check_merge_alone(*command, of_merging);
    cost(*options);
  });
}

}  // namespace precast::cli
