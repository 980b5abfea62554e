#include <algorithm>
#include <string_view>
#include <utility>

#include <cli/bench/bench_options.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/training_policies.hpp>
#include <timing/model_sizes.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

using language_model::Architecture;

std::vector<std::string> parse_names(std::string_view option, const std::string& text,
                                     const std::vector<std::string_view>& names) {
  std::vector<std::string> values;
  for (const std::string& part : parse_list(option, text)) values.push_back(parse_name(option, part, names));
  return values;
}

std::vector<std::string_view> names_of_sizes() {
  std::vector<std::string_view> names;
  for (const timing::ModelSize& size : timing::model_sizes()) names.push_back(size.name);
  return names;
}

const std::vector<std::string_view> part_names{"forward", "forward-backward", "optimizer"};
const std::vector<std::string_view> kind_names{"plain", "flash"};
const std::vector<std::string_view> variant_names{"llama", "gpt2"};

constexpr std::int64_t most_context = 1 << 20, most_head_width = 1024, most_runs = 1'000'000;

CLI::Option* add_text(CLI::App& command, const std::string& name, std::optional<std::string>& value,
                      const std::string& type, const std::string& description) {
  return command.add_option(name, value, description)->type_name(type);
}

}  // namespace

std::vector<std::string> BenchOptions::given_policies(const std::vector<std::string>& usual) const {
  if (policies->count() == 0) return usual;
  std::vector<std::string> names;
  for (const std::string& given : policies->results())
    for (const std::string& name : parse_list("--policies", given)) names.push_back(name);
  return names;
}

void BenchOptions::check_merge(const CLI::App& command) const {
  static constexpr std::string_view of_merging[] = {"name",  "--merge",  "--json",
                                                    "--csv", "--output", "--quiet"};
  check_merge_alone(command, of_merging);
  check_each_file_once(merge->results());
}

timing::AttentionGrid BenchOptions::attention_grid() const {
  for (const auto& [value, option] :
       {std::pair(&sizes, "--sizes"), {&variants, "--variant"}, {&parts, "--parts"}})
    if (*value) throw UsageError(std::string(option) + " applies to bench lm only: leave it out");
  timing::AttentionGrid grid;
  if (head_widths) grid.head_widths = parse_integers("--head-widths", *head_widths, 1, most_head_width);
  if (contexts) grid.contexts = parse_integers("--contexts", *contexts, 1, most_context);
  if (warmups) grid.warmups = parse_integers("--warmup", *warmups, 0, most_runs);
  if (kinds) grid.kinds = parse_names("--attention", *kinds, kind_names);
  grid.policies = given_policies(grid.policies);
  grid.steps = steps.value_or(static_cast<int>(grid.steps));
  grid.batch = batch.value_or(static_cast<int>(grid.batch));
  return grid;
}

timing::ModelGrid BenchOptions::model_grid() const {
  for (const auto& [value, option] : {std::pair(&head_widths, "--head-widths"), {&kinds, "--attention"}})
    if (*value) throw UsageError(std::string(option) + " applies to bench attention only: leave it out");
  timing::ModelGrid grid;
  if (sizes) grid.sizes = parse_names("--sizes", *sizes, names_of_sizes());
  if (contexts) grid.contexts = parse_integers("--contexts", *contexts, 1, most_context);
  if (warmups) grid.warmups = parse_integers("--warmup", *warmups, 0, most_runs);
  grid.policies = training_policies_named("--policies", given_policies(grid.policies));
  if (variants) {
    grid.architectures.clear();
    for (const std::string& name : parse_names("--variant", *variants, variant_names))
      grid.architectures.push_back(name == "gpt2" ? Architecture::gpt2 : Architecture::llama);
  }
  if (parts) {
    grid.parts = {.forward = false, .forward_backward = false, .optimizer = false};
    for (const std::string& name : parse_names("--parts", *parts, part_names))
      (name == part_names[0]   ? grid.parts.forward
       : name == part_names[1] ? grid.parts.forward_backward
                               : grid.parts.optimizer) = true;
  }
  grid.steps = steps.value_or(static_cast<int>(grid.steps));
  grid.batch = batch.value_or(static_cast<int>(grid.batch));
  return grid;
}

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("name", options.name,
                  "lm: steps of language models of the sizes S to 2.7B, with random values and tokens.\n"
                  "attention: attention alone, of one head without a mask")
      ->type_name("lm|attention")
      ->required();
  add_text(command, "--sizes", options.sizes, io::joined(names_of_sizes(), "|") + ",...",
           "Of models: width 768, 1024, 1280, 1600 and 2560 with 12, 24, 36, 48 and 32 layers, respectively, "
           "and tiny, for a quick try; default S,M");
  add_text(command, "--contexts", options.contexts, "N,...",
           "Tokens in a window; default 128,256,512, for attention 256,1024,4096,8192,16384");
  add_text(command, "--warmup", options.warmups, "N,...",
           "Warm-up steps before the timed ones; with several numbers, each is measured by itself; default "
           "5, for attention 1");
  add_integer(command, "--steps", options.steps, 1, most_runs,
              "Timed steps, of which mean and standard deviation are reported; default 10");
  add_integer(command, "--batch", options.batch, 1, 65536, "Windows in a step; default 4, for attention 8");
  // Not bound to a variable, as with --prompt.
  options.policies =
      command
          .add_option("--policies",
                      "What is stored, multiplied and summed in which format: the names that precast train "
                      "--policy takes; for attention f32, bf16 and f16; default f32,bf16")
          ->type_name("NAME,...")
          ->take_all();
  add_text(command, "--variant", options.variants, io::joined(variant_names, "|") + ",...",
           "llama: RMS norm, rotary positions, SwiGLU; gpt2: layer norm, learned positions, gelu; default "
           "llama");
  add_text(command, "--parts", options.parts, io::joined(part_names, "|") + ",...",
           "What is measured: the loss alone, the loss and its gradients, AdamW's step; default all");
  add_text(command, "--head-widths", options.head_widths, "N,...",
           "Attention only: values in a head; default 16,32,64,128");
  add_text(command, "--attention", options.kinds, io::joined(kind_names, "|") + ",...",
           "Attention only: with scores in the policy's format, or in tiles in f32; default plain,flash");
  command.add_option("--json", options.json, "File for the table as JSON, rewritten after each case")
      ->type_name("FILE");
  command.add_option("--csv", options.csv, "File for the table as comma-separated values")->type_name("FILE");
  command.add_option("--output,-o", options.page, "File for a report with plots (HTML)")->type_name("FILE");
  add_shard_option(
      command, options.part,
      "Every Nth of the cases, beginning with the Ith, from 1: for N machines, whose JSON --merge puts "
      "together; auto: I and N from this process's task of a Slurm array or rank of mpirun, into "
      "files with -I-of-N in their names");
  options.merge =
      command
          .add_option("--merge",
                      "Merges files that --json wrote, such as those of shards, instead of measuring")
          ->type_name("FILE...")
          ->take_all();
  add_device_option(command, options.device);
  add_threads_option(command, options.threads, "");
  add_quiet_option(command);
}

}  // namespace precast::cli
