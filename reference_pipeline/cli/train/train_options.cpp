#include <algorithm>
#include <initializer_list>

#include <cli/options/arguments.hpp>
#include <cli/options/real_option.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/training_policies.hpp>
#include <cli/running/run_report.hpp>
#include <cli/train/train_options.hpp>
#include <language_model/batches.hpp>

#include <precast/io/joined.hpp>
#include <precast/policy/training_policies.hpp>

namespace precast::cli {

namespace {

using language_model::Architecture;

/// Adds an integer option in [low, high], parsed into `value`.
void add_count(CLI::App& command, const std::string& name, std::int64_t& value, std::int64_t low,
               std::int64_t high, const std::string& description) {
  command
      .add_option_function<std::string>(
          name, [=, &value](const std::string& text) { value = parse_integer(name, text, low, high); },
          description)
      ->type_name("N");
}
template <class Store>
void add_name(CLI::App& command, const std::string& name, const std::vector<std::string_view>& names,
              const std::string& description, Store store) {
  command
      .add_option_function<std::string>(
          name, [=](const std::string& text) { store(parse_name(name, text, names)); }, description)
      ->type_name(io::joined(names, "|"));
}

/// The training policies of the default build.
std::string policy_words() { return io::joined(default_training_policies, "|"); }

constexpr std::int64_t most_steps = 100'000'000;
constexpr double largest_f32 = 3.4e38;

/// Adds an option for a number above 0 that is finite in f32.
template <class Number>
void add_positive(CLI::App& command, const std::string& name, Number& value, double high,
                  const std::string& description) {
  command
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& text) {
            const double number = parse_real(name, text, 0, high, Ends::above_low);
            if (static_cast<float>(number) == 0)
              throw UsageError(name + " is '" + text + "', which f32 rounds to 0: give a larger one");
            value = number;
          },
          description)
      ->type_name("X");
}

void add_data(CLI::App& command, TrainOptions& options) {
  command
      .add_option(
          "--data,-d", options.data,
          "Text to train on, in UTF-8; default: the opening of Alice's Adventures in Wonderland, which "
          "ships with the program")
      ->type_name("FILE");
  command
      .add_option(
          "--batches", options.batches,
          "safetensors with I64 `tokens` [steps, batch, context + 1]: what each step takes, in place of "
          "windows of --data at random places")
      ->type_name("FILE");
  command
      .add_option("--validation", options.validation,
                  "Text that is not trained on, whose loss is reported beside the training's; or, where its "
                  "name ends in .safetensors, tokens as in --batches")
      ->type_name("FILE");
  command
      .add_option("--model,-m", options.model,
                  "Folder of transformers' LlamaForCausalLM or GPT2LMHeadModel to go on from (config.json, "
                  "model.safetensors), or of an interrupted run; default: a new model")
      ->type_name("DIR");
  command
      .add_option("--output,-o", options.output,
                  "Folder for the model, as transformers reads it, and the checkpoint; default trained")
      ->type_name("DIR");
  command
      .add_option("--log", options.log,
                  "File for a line of JSON a step: loss, gradient norm, scale, ...; with --compare each has "
                  "its policy")
      ->type_name("FILE");
}

void add_run(CLI::App& command, TrainOptions& options) {
  auto& training = options.training;
  CLI::Option* policy = command.add_option(
      "--policy", training.policy,
      "What is stored, multiplied and summed in which format; default f32. A regime (" +
          training_regimes_in_words() +
          ") or a preset, then any of +flash, "
          "+upcast-attention and +upcast-matmul; a build holds the policies of -DPRECAST_TRAINING, "
          "and names them where it lacks one. precast policy --training NAME prints its dtypes");
  policy->type_name(policy_words());
  CLI::Option* compare =
      command
          .add_option(
              "--compare", options.compare,
              "Trains once under each of these policies, from the same values on the same batches, and "
              "makes one table; nothing else is written but --report and --log")
          ->type_name(policy_words() + ",...")
          ->excludes(policy);
  command
      .add_option(
          "--report", options.report,
          "With --compare: an HTML page of loss, scale and gradients; with --predict-ranks: of speed by "
          "ranks")
      ->type_name("FILE");
  add_count(command, "--steps", training.steps, 1, most_steps,
            "Steps in all; default 200, with --batches as many as the file has");
  add_integer(command, "--batch", options.batch, 1, 65536, "Windows in a step, for each rank; default 16");
  add_integer(command, "--context", options.context, 1, 1 << 20,
              "Tokens in a window; default 64, or all that --model reads, where these are fewer");
  command
      .add_option_function<std::string>(
          "--seed", [&options](const std::string& text) { options.seed = parse_seed("--seed", text); },
          "Seed of a new model's values, the data's order and sampled text; default 0")
      ->type_name("N");
  add_integer(command, "--checkpoint-every", options.checkpoint_every, 1, 1'000'000'000,
              "Steps from one checkpoint to the next, and one at the end or at Ctrl-C; default 50")
      ->excludes(compare);
  add_integer(command, "--validate-every", options.validate_every, 1, 1'000'000'000,
              "Steps from one loss of --validation to the next, and one at the end; default 50");
  CLI::Option* resume = command.add_flag(
      "--resume", options.resume,
      "Continues from the checkpoint in --output, with the bits of a run that never stopped: options that "
      "are left out are those of its run, others must equal them, except --steps under a constant rate; "
      "--log, --sample, --device, --threads and --json are not kept, and must be given again");
  resume->excludes(compare)->excludes(command.get_option("--model"));
  command
      .add_flag("--overwrite", options.overwrite,
                "Trains from the start, and replaces a model or a checkpoint in --output, which is an error "
                "otherwise")
      ->excludes(resume)
      ->excludes(compare);
  add_integer(command, "--sample", options.sample, 0, 100'000,
              "Tokens of text to print at the end; default 200");
  add_device_option(command, options.device,
                    "auto, cpu, cuda or cuda:N; auto takes CUDA where there is a device. With several ranks "
                    "(mpirun), cuda gives each its own device, and auto is the CPU");
  add_threads_option(command, options.threads, "the bits of results do not depend on them");
  command.add_flag("--json", options.json, "The result as JSON on stdout");
  add_quiet_option(command);
}

void add_new_model(CLI::App& command, TrainOptions& options) {
  add_name(command, "--architecture", {"gpt2", "llama"}, "Of a new model; default gpt2",
           [&options](const std::string& name) { options.architecture = name; });
  add_integer(command, "--layers", options.layers, 1, 1024, "Layers of a new model; default 2");
  add_integer(command, "--width", options.width, 1, 1 << 17, "Values of its hidden states; default 128");
  add_integer(command, "--heads", options.heads, 1, 4096, "Its heads of attention; default 4");
  add_integer(command, "--heads-kv", options.heads_kv, 1, 4096,
              "Its heads of keys and values, where it is a llama; default: as many as --heads");
  add_name(command, "--tokenizer", {"characters", "bytes"},
           "The tokens of a new model: the characters of the text, or bytes; default characters",
           [&options](const std::string& name) { options.tokenizer = name; });
}

void add_optimiser(CLI::App& command, TrainOptions& options) {
  auto& training = options.training;
  add_positive(command, "--lr", training.adamw.lr, 1e3, "Learning rate of AdamW, above 0; default 0.001");
  command
      .add_option_function<std::string>(
          "--betas",
          [&training](const std::string& text) {
            const std::size_t comma = text.find(',');  // parse_list refuses equal entries, as in 0.9,0.9
            if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos)
              throw UsageError("--betas is '" + text + "': it must read B1,B2, as in 0.9,0.999");
            training.adamw.beta1 =
                parse_real("the first of --betas", text.substr(0, comma), 0, 1, Ends::below_high);
            training.adamw.beta2 =
                parse_real("the second of --betas", text.substr(comma + 1), 0, 1, Ends::below_high);
          },
          "AdamW's decay rates of the moving means of gradients and of their squares; default 0.9,0.999")
      ->type_name("B1,B2");
  add_real(command, "--eps", training.adamw.eps, 0, largest_f32,
           "Added to the square root of the second mean; default 1e-8");
  add_real(command, "--weight-decay", training.adamw.weight_decay, 0, 1e3,
           "Weight decay of AdamW, on matrices alone; default 0.01");
  add_positive(command, "--clip", training.clip, largest_f32,
               "Clips the norm of all gradients to this, after they are unscaled; default: no clipping");
  add_count(command, "--warmup", training.warmup, 0, most_steps,
            "Steps in which the learning rate rises from 0; default 0");
  add_name(
      command, "--schedule", {"constant", "cosine"},
      "The learning rate after the warm-up: constant, or down to 0 along half a cosine; default constant",
      [&training](const std::string& name) {
        training.schedule = name == "cosine" ? train::Schedule::cosine : train::Schedule::constant;
      });
  auto& scaler = training.scaler;
  add_positive(command, "--init-scale", scaler.init_scale, largest_f32,
               "Where the loss is scaled: what the loss is multiplied by at first; default 65536");
  add_real(command, "--growth-factor", scaler.growth_factor, 1, 1e6,
           "Where the loss is scaled: what the scale grows by; default 2", Ends::above_low);
  add_real(command, "--backoff-factor", scaler.backoff_factor, 0, 1,
           "Where the loss is scaled: what the scale is multiplied by where a gradient is inf or NaN, and "
           "the step left out; "
           "default 0.5",
           Ends::neither);
  add_count(command, "--growth-interval", scaler.growth_interval, 1, most_steps,
            "Where the loss is scaled: steps without inf and NaN after which the scale grows; default 2000");
}

void add_ranks(CLI::App& command, TrainOptions& options) {
  add_name(command, "--all-reduce-precision", {"f32", "bf16", "f16"},
           "With several ranks (mpirun): the dtype in which gradients are exchanged and summed; "
           "default: the dtype that the policy keeps them in",
           [&options](const std::string& name) { options.all_reduce = cluster::sum_dtype_named(name); });
  command
      .add_option_function<std::string>(
          "--bucket-size",
          [&options](const std::string& text) {
            options.bucket_bytes = static_cast<std::size_t>(parse_bytes("--bucket-size", text));
          },
          "With several ranks: bytes of gradients that are summed at a time while the backward pass runs; "
          "default 25MiB")
      ->type_name("SIZE");
}

}  // namespace

std::vector<std::string> TrainOptions::policies() const {
  return compare.empty() ? std::vector{training.policy}
                         : training_policies_named("--compare", parse_list("--compare", compare));
}

language_model::LanguageModelConfig TrainOptions::new_model(std::int64_t vocabulary) const {
  language_model::LanguageModelConfig config;
  const bool llama = architecture == "llama";
  config.architecture = llama ? Architecture::llama : Architecture::gpt2;
  config.vocabulary = vocabulary;
  config.positions = context_length();
  config.width = width.value_or(128);
  config.layers = layers.value_or(2);
  config.heads = heads.value_or(4);
  config.heads_kv = llama ? heads_kv.value_or(static_cast<int>(config.heads)) : config.heads;
  if (!llama && heads_kv)
    throw UsageError("--heads-kv applies to llama models: add --architecture llama, or leave it out");
  if (config.width % config.heads != 0)
    throw UsageError("--width is " + std::to_string(config.width) + ": it must be a multiple of --heads, " +
                     std::to_string(config.heads));
  config.head_width = config.width / config.heads;
  if (llama && config.head_width % 2 != 0)
    throw UsageError("--width over --heads is " + std::to_string(config.head_width) +
                     ": rotary embeddings rotate pairs, and need an even number");
  if (config.heads % config.heads_kv != 0)
    throw UsageError("--heads-kv is " + std::to_string(config.heads_kv) + ": it must divide --heads, " +
                     std::to_string(config.heads));
  // SwiGLU has three matrices where GELU has two: about equal numbers of parameters.
  config.inner = llama ? (8 * config.width / 3 + 7) / 8 * 8 : 4 * config.width;
  config.norm_eps = llama ? 1e-6 : 1e-5;
  return config;
}

void add_train_options(CLI::App& command, TrainOptions& options) {
  add_data(command, options);
  add_run(command, options);
  add_new_model(command, options);
  add_optimiser(command, options);
  add_ranks(command, options);
}

GivenOptions::GivenOptions(const CLI::App& command) {
  const auto add = [&](std::vector<std::string>& given, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (command.get_option(name)->count() > 0) given.emplace_back(name);
  };
  add(of_scaling, {"--init-scale", "--growth-factor", "--backoff-factor", "--growth-interval"});
  add(of_ranks, {"--all-reduce-precision", "--bucket-size"});
}

void warn_of_unused_options(const GivenOptions& given, std::span<const std::string> policies, int ranks) {
  const auto scales = [](const std::string& name) {
    return language_model::training_policy(name).scales_loss;
  };
  std::vector<std::string> unused;
  if (std::ranges::none_of(policies, scales))
    for (const std::string& option : given.of_scaling)
      unused.push_back(option + " does nothing: the loss is not scaled under " +
                       (policies.size() == 1 ? policies.front() : "any of these policies"));
  if (ranks == 1)
    for (const std::string& option : given.of_ranks)
      unused.push_back(option + " does nothing: there is one rank, and no gradients are exchanged");
  print_warnings(unused);
}

void resolve_training(TrainOptions& options, const CLI::App& command) {
  language_model::TrainingOptions& training = options.training;
  if (!options.batches.empty() && command.get_option("--steps")->count() == 0)
    training.steps = language_model::shape_of_batches(options.batches)[0];
  if (training.warmup > training.steps)
    throw UsageError("--warmup is " + std::to_string(training.warmup) + ", and --steps " +
                     std::to_string(training.steps) + ": give a warm-up that ends with the run or before");
  if (options.validate_every && options.validation.empty())
    throw UsageError("--validate-every needs --validation: add it, or leave this out");
  training.check();
}

}  // namespace precast::cli
