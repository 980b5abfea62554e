// precast cost: what each layer in each format costs, measured one layer at a time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <casting/cost_table.hpp>
#include <casting/measure.hpp>
#include <casting/merge_costs.hpp>
#include <casting/sample_file.hpp>
#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/cost_options.hpp>
#include <cli/given_files.hpp>
#include <cli/interrupt.hpp>
#include <cli/model_path.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/policy_options.hpp>
#include <cli/progress.hpp>
#include <cli/run_options.hpp>
#include <cli/run_report.hpp>
#include <families/registry.hpp>

#include <precast/host/parallel.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr std::string_view usual_types = "q8_0,fp8_e4m3,q6_k,q5_1,q5_k,q4_1,q4_k,q4_0,q3_k,q2_k";
constexpr std::array<std::string_view, 2> granularities{"layer", "matrix"};

struct CostOptions {
  std::optional<std::string> model;
  ComponentFiles component_files;
  std::string device = "auto", policy = "balanced", samples, output = "cost.json";
  std::string types{usual_types};
  std::optional<std::string> layers, patch;
  casting::Shard shard;
  bool names_part = false;  ///< the output's name says which part it is
  casting::Granularity granularity = casting::Granularity::layer;
  std::optional<int> threads;
  CLI::Option* merge = nullptr;
  CLI::Option* output_option = nullptr;
  casting::Measure measure = casting::Measure::cost;
  bool biases = false, weighted = false, markdown = false, csv = false, json = false;
};

/// Everything that the numbers depend on, but for the model, the layers and the types.
std::string cost_settings_text(const CostOptions& options, const casting::Samples& samples) {
  char fingerprint[32];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx",
                static_cast<unsigned long long>(samples.fingerprint()));
  std::string text = "samples " + std::string(fingerprint) + ", " +
                     policy_text(parse_policy(options.policy)) + ", by " +
                     std::string(granularities[static_cast<std::size_t>(options.granularity)]) + ", biases " +
                     (options.biases ? "cast" : "kept");
  if (options.patch) text += ", patched from " + given_name(*options.patch);
  return text;
}

/// The cost file that is there under the name of the output, where it is of the same measurement.
casting::CostFile results_so_far(const CostOptions& options, const std::string& model,
                                 const casting::Samples& samples) {
  casting::CostFile fresh{
      model, static_cast<std::int64_t>(samples.recorded.size()), cost_settings_text(options, samples), {}};
  if (!io::is_there(options.output)) return fresh;
  casting::CostFile old = casting::read_cost_file(options.output);
  if (old.model != fresh.model || old.samples != fresh.samples || old.settings != fresh.settings)
    throw io::file_error(options.output,
                         "holds numbers of another measurement (" + old.model.value_or("no model") + "; " +
                             old.settings.value_or("no settings") + "), and this one is " + *fresh.model +
                             "; " + *fresh.settings + ": give another --output, or remove the file");
  notes() << "going on from " << io::shown(options.output) << ", which has " << old.layers.size()
          << (old.layers.size() == 1 ? " layer\n" : " layers\n");
  return old;
}

void show(const CostOptions& options, const casting::CostFile& file) {
  if (options.json) return print(casting::cost_file_text(file));
  const casting::CostTable table = options.weighted ? casting::weighted_cost_table(file, options.measure)
                                                    : casting::cost_table(file, options.measure);
  if (options.markdown) return print(casting::as_markdown(table));
  if (options.csv) return print(casting::as_csv(table));
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
  std::vector<casting::NamedCosts> files;
  for (const std::string& name : options.merge->results())
    files.push_back({name, casting::read_cost_file(name)});
  const casting::CostFile merged = casting::merge_costs(files);
  if (!merge_is_written(options)) return show(options, merged);
  check_usual_output(options);
  casting::write_cost_file(options.output, merged);
  show(options, merged);
  notes() << "wrote " << io::shown(options.output) << "\n";
}

void measure(const CostOptions& options) {
  if (options.samples.empty())
    throw UsageError("there is no --samples: give a file that `precast record` wrote, or --merge cost files");
  casting::CostSettings settings;
  settings.types = parse_types(options.types);
  settings.biases = options.biases;
  settings.granularity = options.granularity;
  const PolicyChoice policy = parse_policy(options.policy);
  if (options.patch && std::filesystem::path(*options.patch).extension() != ".gguf")
    throw UsageError("--patch is '" + io::printable(*options.patch) +
                     "': it must be a .gguf file of the same model, as precast convert writes it");
  if (options.patch && !io::is_there(*options.patch))
    throw io::file_error(*options.patch, "is not there: give --patch a .gguf file of the same model");
  if (options.threads) host::set_threads(*options.threads);
  const families::ModelFiles model = model_files(options.model, options.component_files);
  const std::string name = cast_model_name(model, options.model);
  const casting::Samples samples = casting::read_samples(options.samples);
  casting::CostFile so_far = results_so_far(options, name, samples);
  const families::ChosenDevice device = families::choose_device(options.device);
  const auto pipeline = families::open(model, families::ComponentChoices::all(policy), *device.backend);
  const std::unique_ptr<nn::ParameterSource> patch =
      options.patch ? pipeline->other_weights(*options.patch) : nullptr;
  ProgressReporter reporter;
  const auto blocks = pipeline->load_blocks([&](const families::Progress& at) {
    throw_if_interrupted();
    reporter.update(at.stage, at.done, at.total);
  });
  const auto count = static_cast<std::int64_t>(blocks->list().size());
  if (options.layers)
    settings.layers = parse_layers(*options.layers, count);
  else
    for (std::int64_t layer = 0; layer < count; ++layer) settings.layers.push_back(layer);
  const std::size_t asked_for = settings.layers.size();
  settings.layers = casting::layers_of(settings.layers, options.shard);
  if (settings.layers.empty())
    throw UsageError("--shard leaves none of " + std::to_string(asked_for) +
                     (asked_for == 1 ? " layer" : " layers") +
                     " to measure: give no more shards than layers");

  if (patch) {
    settings.patch = patch.get();
    settings.patched_type = casting::patched_type(*blocks, *patch);
  }

  const auto left_behind = [&] {
    return io::is_there(options.output)
               ? io::shown(options.output) + " has what was measured; the same command goes on from there"
               : std::string("nothing was written");
  };
  bool fits = false;  // an error is the only line: the warning comes when a sample has run
  const auto warn_once = [&] {
    const auto of = samples.facts.find("model");
    if (!std::exchange(fits, true) && of != samples.facts.end() && of->second != name)
      tell_warnings({"the samples were recorded from the model '" + io::printable(of->second) +
                     "', and this is '" + io::printable(name) + "'"});
  };
  const casting::CostFile file = casting::measure_cost(
      *blocks, samples.recorded, settings, std::move(so_far),
      [&](std::int64_t done, std::int64_t total) {
        throw_if_interrupted(left_behind());
        warn_once();
        reporter.update("cast", done, total);
      },
      [&](const casting::CostFile& all) { casting::write_cost_file(options.output, all); });
  reporter.wipe();
  show(options, file);
  notes() << "wrote " << io::shown(options.output) << "\n";
}

void cost(CostOptions& options) {
  if (is_standard_output(options.output)) throw UsageError("--output is '-': name a file for the numbers");
  if (options.names_part) options.output = part_file(options.output, options.shard);
  const std::array files{std::filesystem::path(options.output)};
  const bool merging = options.merge->count() > 0;
  if (!merging || merge_is_written(options)) check_output_files(files);
  if (merging) return merge(options);
  measure(options);
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
  command.add_flag("--biases", options.biases, "Casts biases too; without it they stay as they are");
  command
      .add_option_function<std::string>(
          "--shard",
          [&](const std::string& text) {
            options.shard = parse_shard(text);
            options.names_part = text == "auto";
          },
          "Every Nth of the layers, beginning with the Ith, from 1: for N machines, whose files --merge puts "
          "together; auto: as the task of a Slurm array or the rank of mpirun that this process is, into "
          "--output with -I-of-N in its name")
      ->type_name("I/N|auto");
  command
      .add_option("--policy", options.policy,
                  "The policy that the model runs under: a preset or a precision, with +flash and the like")
      ->type_name(policy_names())
      ->capture_default_str();
  add_device_option(command, options.device);
  add_threads_option(command, options.threads, "CPU threads; no number depends on them");
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
  command
      ->add_option_function<std::string>(
          "--measure",
          [options](const std::string& text) {
            const auto& names = casting::measure_names;
            const std::string name = parse_name("--measure", text, names);
            options->measure = static_cast<casting::Measure>(std::ranges::find(names, name) - names.begin());
          },
          "What the table shows. cost (default): mean squared error of all tokens after the last block; "
          "loss: the "
          "same of the layer's own output; relative: over the mean square of what is compared with")
      ->type_name(casting::measure_choices);
  command->add_flag(
      "--weighted", options->weighted,
      "The table for each parameter: over the layer's parameters, in those of the smallest layer");
  CLI::Option* markdown = command->add_flag("--markdown", options->markdown, "The table as Markdown");
  CLI::Option* csv = command->add_flag("--csv", options->csv, "The table as CSV")->excludes(markdown);
  command->add_flag("--json", options->json, "The cost file on stdout in place of a table")
      ->excludes(markdown)
      ->excludes(csv);
  add_quiet_option(*command);
  command->footer(
      "The matrices of one layer at a time are encoded to a format and decoded again; norm scales and what "
      "is "
      "outside of\n"
      "blocks stay. Each run starts at that layer. Rows that a format's blocks do not divide take the format "
      "that "
      "convert\n"
      "takes, and \"bits\" says what was taken. Interrupted or killed, the same command goes on with "
      "the next "
      "layer.\n"
      "\n"
      "Examples:\n"
      "  precast record --prompt \"a red circle\" \"a blue star\" --every 5\n"
      "  precast cost --samples samples.safetensors --types q8_0,q5_1,q4_0\n"
      "  precast cost --samples samples.safetensors --types q4_k --patch flux1-dev-q4_k.gguf --output "
      "patched.json\n"
      "  precast cost --model ~/FLUX.1-dev --samples dev.safetensors --shard 1/2 --output cost-1.json\n"
      "  mpirun -n 4 precast cost --samples dev.safetensors --shard auto --threads 1\n"
      "  precast cost --merge cost-1.json cost-2.json --output cost.json --weighted --markdown");
  command->callback([options] { cost(*options); });
}

}  // namespace precast::cli
