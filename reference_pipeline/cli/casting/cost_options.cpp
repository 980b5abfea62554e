#include <algorithm>
#include <set>
#include <string_view>

#include <casting/castable.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/casting/measure_option.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/run_options.hpp>
#include <formats/registry.hpp>

namespace precast::cli {

namespace {

void add_measuring_options(CLI::App& command, CostOptions& options) {
  add_model_option(command, options.model);
  add_component_options(command, options.component_files);
  command.add_option("--samples", options.samples, "What `precast record` wrote: the inputs to measure on")
      ->type_name("FILE");
  command
      .add_option("--types", options.types,
                  "Formats, comma-separated: scalars such as fp8_e4m3, and those of docs/quantisation.md")
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
                  "Blocks to measure, from 0, in the order in which they run (of a Flux model, double ones "
                  "first): 0-18,20; default: all")
      ->type_name("LIST");
  command
      .add_option_function<std::string>(
          "--granularity",
          [&options](const std::string& text) {
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
  add_integer(command, "--jobs", options.jobs, 1, 1024,
              "Layers that are measured at once, each on one thread with its own copy of the model, as far "
              "as memory allows; default 1, which has all threads. Results do not depend on it");
  command.add_flag("--biases", options.biases, "Casts biases too; without it they stay as they are");
  add_shard_option(
      command, options.part,
      "Every Nth of the layers, beginning with the Ith, from 1: for N machines, whose files --merge puts "
      "together; auto: I and N from this process's task of a Slurm array or rank of mpirun, into "
      "--output with -I-of-N in its name");
  command
      .add_option("--policy", options.policy,
                  "The policy that the model runs under: a preset or a precision, with +flash and the like")
      ->type_name(policy_names())
      ->capture_default_str();
  add_device_option(command, options.device);
  add_threads_option(command, options.threads, "results do not depend on them");
}

}  // namespace

std::vector<std::string> parse_types(const std::string& text) {
  std::vector<std::string_view> names;
  for (const formats::StoredFormat& format : formats::all_formats()) names.push_back(format.name);
  std::vector<std::string> types;
  for (std::string part : parse_list("--types", text)) {
    if (const auto known = formats::find_type(part))
      part = known->name;
    else
      for (char& c : part)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string type = parse_name("--types", part, names);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return types;
}

std::string usual_types(bool (*holds)(std::string_view block_format)) {
  std::string types;
  for (const std::string_view type :
       {"q8_0", "fp8_e4m3", "q6_k", "q5_1", "q5_k", "q4_1", "q4_k", "q4_0", "q3_k", "q2_k"})
    if (casting::can_cast_to(type, holds)) types.append(types.empty() ? "" : ",").append(type);
  return types;
}

std::vector<std::int64_t> parse_layers(const std::string& text, std::int64_t count) {
  std::set<std::int64_t> layers;
  for (const std::string& part : parse_list("--layers", text)) {
    const std::size_t dash = part.find('-', 1);
    const std::int64_t first = parse_integer("--layers", part.substr(0, dash), 0, count - 1);
    const std::int64_t last =
        dash == std::string::npos ? first : parse_integer("--layers", part.substr(dash + 1), 0, count - 1);
    if (last < first)
      throw UsageError("--layers: " + part +
                       " is reversed: the first layer of a range must be the smaller one");
    for (std::int64_t layer = first; layer <= last; ++layer) layers.insert(layer);
  }
  return {layers.begin(), layers.end()};
}

void add_cost_options(CLI::App& command, CostOptions& options) {
  add_measuring_options(command, options);
  // Not bound to a variable, as with --prompt.
  options.merge = command
                      .add_option("--merge",
                                  "Merges cost files of one measurement, instead of measuring; given one "
                                  "file, shows its table, and writes only with --output")
                      ->type_name("FILE...")
                      ->take_all();
  options.output_option = command
                              .add_option("--output,-o", options.output,
                                          "Cost file (JSON) to write, rewritten after each layer; if it "
                                          "exists, what it has is not measured again")
                              ->type_name("FILE")
                              ->capture_default_str();
  options.measure_option = add_measure_option(
      command, options.measure,
      "What the table shows. cost (default): mean squared error of all tokens after the last block; loss: "
      "the same of the layer's own output; relative: over the mean square of what is compared with; estimate "
      "(default with --estimates-only): --importance's, with its rank correlation with what was measured");
  CLI::Option* weighted = command.add_flag(
      "--weighted", options.weighted,
      "The table's numbers divided by the layer's parameters, counted in those of the smallest layer");
  CLI::Option* markdown = command.add_flag("--markdown", options.markdown, "The table as Markdown");
  CLI::Option* csv = command.add_flag("--csv", options.csv, "The table as CSV")->excludes(markdown);
  command.add_flag("--json", options.json, "The cost file on stdout instead of a table")
      ->excludes(markdown)
      ->excludes(csv)
      ->excludes(weighted);
  add_quiet_option(command);
  command.footer(
      "The matrices of one layer at a time are encoded to a format and decoded again; norm scales and what "
      "is outside of\n"
      "blocks stay. Each run starts at that layer. Rows that a format's blocks do not divide take the "
      "format that convert\n"
      "takes, and \"bits\" says what was taken. Interrupted or killed, the same command continues with the "
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
}

}  // namespace precast::cli
