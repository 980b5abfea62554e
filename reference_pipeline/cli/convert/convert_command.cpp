// precast convert: converts the weights of a file, component or model to other types, containers and names.
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <casting/plan_file.hpp>
#include <cli/commands.hpp>
#include <cli/convert/convert_report.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/progress.hpp>
#include <convert/model_conversion.hpp>
#include <formats/registry.hpp>
#include <process/seconds_since.hpp>

#include <precast/io/joined.hpp>
#include <precast/io/temporary_name.hpp>

namespace precast::cli {

namespace {

constexpr std::array<std::string_view, 2> layouts{"diffusers", "bfl"};

struct ConvertOptions {
  std::string in, out, plan, importance;
  std::optional<std::string> type, biases;
  std::string layout, encoder;
  std::vector<std::string> rules;
  bool dry_run = false, json = false;
};

conversion::TypeOptions type_options(const ConvertOptions& options) {
  conversion::TypeOptions result;
  if (options.type) result.type = conversion::parse_type("--type", *options.type);
  if (options.biases) result.biases = conversion::parse_type("--biases", *options.biases);
  std::set<std::string> expressions;
  for (const std::string& text : options.rules) {
    result.rules.push_back(conversion::parse_rule(text));
    if (!expressions.insert(text.substr(0, text.rfind('='))).second)
      throw UsageError(
          "--rule '" + io::printable(text) +
          "' has the expression of an earlier --rule, which takes precedence: remove one of them");
  }
  if (!options.plan.empty()) result.plan = casting::read_plan(options.plan);
  return result;
}

conversion::Settings conversion_settings(const ConvertOptions& options) {
  conversion::Settings settings{type_options(options), std::nullopt, {}, nullptr};
  std::vector<std::string_view> encoders;
  encoders.reserve(quant::named_encoders.size());
  for (const quant::NamedEncoder& named : quant::named_encoders) encoders.push_back(named.name);
  if (!options.encoder.empty())
    settings.encoder.encoder = *quant::encoder_named(parse_name("--encoder", options.encoder, encoders));
  if (!options.importance.empty()) {
    if (!options.encoder.empty() && settings.encoder.encoder != quant::Encoder::search)
      throw UsageError("--importance is for --encoder search: the reference encoder writes bytes of its own");
    settings.encoder.encoder = quant::Encoder::search;
    settings.importance = std::make_shared<conversion::Importance>(options.importance);
  }
  if (!options.layout.empty())
    settings.layout = parse_name("--layout", options.layout, layouts) == layouts.front()
                          ? conversion::Layout::diffusers
                          : conversion::Layout::bfl;
  return settings;
}

void convert_model(const ConvertOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::filesystem::path out(options.out);
  if (is_standard_output(out))
    throw UsageError("OUT is '" + options.out +
                     "', and weights are not written to standard output: name a file, or a folder");
  if (!options.dry_run) check_not_redirected_to(out);
  check_inputs_stay(std::array{out}, std::array<std::filesystem::path, 2>{options.plan, options.importance});
  const conversion::ModelConversion model(named_model(options.in), out, conversion_settings(options));
  bool warned = false;  // no warnings before OUT is writable, so that an error is the only line
  const auto warn_once = [&] {
    if (!std::exchange(warned, true)) print_warnings(model.warnings());
  };
  if (options.dry_run) {
    warn_once();
  } else {
    io::sweep_left_over_files(out.parent_path());
    ProgressReporter progress;
    const std::int64_t values = model.values();
    model.write([&](std::int64_t done) {
      throw_if_interrupted();
      warn_once();
      progress.update("converting", done, values);
    });
    warn_once();
  }
  const double seconds = process::seconds_since(begin);
  if (options.json)
    print(conversion_json(model, seconds, options.dry_run));
  else
    print(conversion_text(model, seconds, options.dry_run));
}

/// Adds the options that choose the types of tensors.
void add_type_options(CLI::App& command, ConvertOptions& options) {
  const std::string types = io::joined(formats::all_formats(), "|", &formats::StoredFormat::name);
  command
      .add_option(
          "--type", options.type,
          "The type of all matrices whose rows its blocks divide; below 16 bits, entry and exit layers, "
          "embeddings, norms, convolutions and biases stay as they are. ggml's blocks need .gguf, but for "
          "nvfp4, which both kinds hold; fp8, mxfp8 and rows under scales need .safetensors, where scales "
          "lie beside codes as ComfyUI reads them, and so does mxfp6, which only Precast reads. Default: as "
          "they are")
      ->type_name(types);
  command
      .add_option("--rule", options.rules,
                  "A type for tensors with a match of an expression (ECMAScript) in their names; TYPE may be "
                  "'keep'. The first of several that matches wins, before --plan and --type. It also applies "
                  "to what stays precise otherwise, unless it matches any text, as '.*' does")
      ->type_name("REGEX=TYPE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option(
          "--plan", options.plan,
          "A type for the matrices of each layer; JSON as 'precast plan' writes it, {\"types\": {LAYER: "
          "TYPE}}. It takes precedence over --type")
      ->type_name("FILE");
  command
      .add_option("--biases", options.biases,
                  "The type of biases; default: as they are, and f32 in GGUF, as other readers expect")
      ->type_name(types);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert", "Weights in another type or kind of file: safetensors, GGUF, a component or a whole model");
  command
      ->add_option("in", options->in,
                   "A .safetensors or .gguf file, a component's folder, or a model folder (or its name in\n"
                   "Hugging Face's cache, or shapes or shapes-sd)")
      ->type_name("PATH")
      ->required();
  command
      ->add_option(
          "out", options->out,
          "A name that ends in .safetensors or .gguf; or, where IN is a folder, a new folder. From a\n"
          "model folder to a file goes the transformer alone")
      ->type_name("PATH")
      ->required();
  add_type_options(*command, *options);
  command
      ->add_option(
          "--layout", options->layout,
          "How a transformer's tensors are named: as diffusers does, or as Flux's authors do, which other "
          "programs read in GGUF and which puts q, k and v together (T5 has ggml's names then). Default: "
          "bfl for .gguf, else as IN has them; in a folder diffusers")
      ->type_name("diffusers|bfl");
  std::string encoder_help = "Which encoder makes blocks";
  for (const quant::NamedEncoder& named : quant::named_encoders)
    encoder_help += "; " + std::string(named.name) + ": " + std::string(named.summary);
  command
      ->add_option("--encoder", options->encoder,
                   encoder_help + ". Default: reference, or search with --importance")
      ->type_name(io::joined(quant::named_encoders, "|", &quant::NamedEncoder::name));
  command
      ->add_option(
          "--importance", options->importance,
          "How much an error counts in each column of each matrix: the mean square of its inputs, as "
          "llama.cpp's and stable-diffusion.cpp's imatrix tools write it (GGUF or .dat), under the names of "
          "IN or OUT. The search encoder, which this chooses, makes the weighted error small")
      ->type_name("FILE");
  command->add_flag("--dry-run", options->dry_run,
                    "Shows which types tensors would get, and how large OUT would be, and writes nothing");
  command->add_flag("--json", options->json, "What was done, as JSON on stdout");
  add_quiet_option(*command);
  command->footer(
      "Reads and writes some MiB at a time, whatever the size; OUT appears when it is complete. Where rows "
      "are "
      "not whole blocks of a type, they get the smallest of iq4_nl, q5_0, q5_1 and q8_0 that is no smaller, "
      "and a line at the end says so.\n"
      "\n"
      "Examples:\n"
      "  precast convert ~/FLUX.1-dev flux1-dev-q4_k.gguf --type q4_k\n"
      "  precast convert ~/FLUX.1-dev flux1-dev.gguf --type q4_k --rule 'attn.*v.weight=q6_k' "
      "--rule '_mlp.2.weight=q5_k'\n"
      "  precast convert flux1-dev-q8_0.gguf flux1-dev-bf16.safetensors --type bf16\n"
      "  precast convert flux1-dev-scaled-fp8.safetensors flux1-dev-q8_0.gguf --type q8_0\n"
      "  precast convert flux1-dev.safetensors dev-q3_k.gguf --type q3_k --importance imatrix.gguf\n"
      "  precast convert ~/FLUX.1-dev flux1-dev-fp8.safetensors --type fp8_e4m3_row --layout bfl");
  command->callback([options] { convert_model(*options); });
}

}  // namespace precast::cli
