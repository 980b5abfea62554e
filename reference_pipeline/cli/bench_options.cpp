#include <benchmark/model_sizes.hpp>
#include <cli/arguments.hpp>
#include <cli/bench_options.hpp>
#include <cli/cost_options.hpp>
#include <cli/run_options.hpp>

namespace precast::cli {

namespace {

using language_model::Architecture;

std::vector<std::int64_t> parse_integers(std::string_view option, const std::string& text, std::int64_t low,
                                         std::int64_t high) {
  std::vector<std::int64_t> values;
  for (const std::string& part : parse_list(option, text))
    values.push_back(parse_integer(option, part, low, high));
  return values;
}

std::vector<std::string> parse_names(std::string_view option, const std::string& text,
                                     const std::vector<std::string_view>& names) {
  std::vector<std::string> values;
  for (const std::string& part : parse_list(option, text)) values.push_back(parse_name(option, part, names));
  return values;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : "|") + std::string(name);
  return all;
}

std::vector<std::string_view> size_names() {
  std::vector<std::string_view> names;
  for (const benchmark::ModelSize& size : benchmark::model_sizes()) names.push_back(size.name);
  return names;
}

const std::vector<std::string_view> part_names{"forward", "forward-backward", "optimizer"};
const std::vector<std::string_view> variant_names{"llama", "gpt2"};

constexpr std::int64_t most_context = 1 << 20, most_steps = 1'000'000;

CLI::Option* add_text(CLI::App& command, const std::string& name, std::optional<std::string>& value,
                      const std::string& type, const std::string& description) {
  return command.add_option(name, value, description)->type_name(type);
}

}  // namespace

benchmark::ModelGrid BenchOptions::model_grid() const {
  benchmark::ModelGrid grid;
  if (sizes) grid.sizes = parse_names("--sizes", *sizes, size_names());
  if (contexts) grid.contexts = parse_integers("--contexts", *contexts, 1, most_context);
  if (warmups) grid.warmups = parse_integers("--warmup", *warmups, 0, most_steps);
  if (policies->count() > 0) {
    grid.policies.clear();
    for (const std::string& given : policies->results())
      for (const std::string& name : parse_list("--policies", given)) grid.policies.push_back(name);
  }
  if (variants) {
    grid.architectures.clear();
    for (const std::string& name : parse_names("--variant", *variants, variant_names))
      grid.architectures.push_back(name == "gpt2" ? Architecture::gpt2 : Architecture::llama);
  }
  if (parts) {
    grid.parts = {false, false, false};
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
                  "lm: steps of language models of the sizes S to 2.7B, with random values and tokens")
      ->type_name("lm")
      ->required();
  add_text(command, "--sizes", options.sizes, joined(size_names()) + ",...",
           "Of models: width 768, 1024, 1280, 1600 and 2560 with 12, 24, 36, 48 and 32 layers, in turn, and "
           "tiny, for a look; default S,M");
  add_text(command, "--contexts", options.contexts, "N,...", "Tokens of a window; default 128,256,512");
  add_text(command, "--warmup", options.warmups, "N,...",
           "Steps before the clock runs; with several, each is measured by itself; default 5");
  add_integer(command, "--steps", options.steps, 1, most_steps,
              "Steps by the clock, of which mean and standard deviation are told; default 10");
  add_integer(command, "--batch", options.batch, 1, 65536, "Windows of a step; default 4");
  // Bound to no variable, as --prompt is.
  options.policies =
      command
          .add_option("--policies",
                      "What is stored, multiplied and summed in which format: the names that precast train "
                      "--policy takes; default f32,bf16")
          ->type_name("NAME,...")
          ->take_all();
  add_text(command, "--variant", options.variants, joined(variant_names) + ",...",
           "llama: RMS norm, rotary positions, SwiGLU; gpt2: layer norm, learned positions, gelu; default "
           "llama");
  add_text(command, "--parts", options.parts, joined(part_names) + ",...",
           "What is measured: the loss alone, the loss and its gradients, AdamW's step; default all");
  command.add_option("--json", options.json, "File for the table as JSON, written anew after each case")
      ->type_name("FILE");
  command.add_option("--csv", options.csv, "File for the table as comma-separated values")->type_name("FILE");
  command.add_option("--output,-o", options.page, "File for a report with plots (HTML)")->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--shard", [&](const std::string& text) { options.shard = parse_shard(text); },
          "Every Nth of the cases, beginning with the Ith, from 1: for N machines, whose JSON --merge puts "
          "together")
      ->type_name("I/N");
  options.merge = command
                      .add_option("--merge",
                                  "Puts files that --json wrote together, such as those of shards, in place "
                                  "of measuring")
                      ->type_name("FILE...")
                      ->take_all();
  add_threads_option(command, options.threads, "CPU threads; default: all cores");
  add_quiet_option(command);
}

}  // namespace precast::cli
