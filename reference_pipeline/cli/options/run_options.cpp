// Adds the options that generate and compare share.
#include <random>

#include <cli/options/arguments.hpp>
#include <cli/options/prompts.hpp>
#include <cli/options/real_option.hpp>
#include <cli/options/run_options.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <families/family.hpp>
#include <families/registry.hpp>
#include <sampling/scheduler_config.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

/// Adds the options of models with samplers, which Flux does not use.
void add_stable_diffusion_options(CLI::App& command, RunOptions& options) {
  const std::string group = "Stable Diffusion";
  command
      .add_option_function<std::string>(
          "--sampler,--scheduler",
          [&](const std::string& text) {
            std::vector<std::string_view> names;
            for (const sampling::SamplerKind kind : sampling::sampler_kinds())
              names.push_back(sampling::sampler_name(kind));
            options.settings.sampler = parse_name("--sampler", text, names);
          },
          "How noise is removed; default: what the model's scheduler/ says")
      ->type_name(io::joined(sampling::sampler_kinds(), "|", sampling::sampler_name))
      ->group(group);
  add_real(command, "--eta", options.settings.eta, families::part_range,
           "How much noise each step of ddim draws: 0 (default) none, 1 as much as in training")
      ->group(group);
  add_real(command, "--guidance-rescale", options.settings.guidance_rescale, families::part_range,
           "How far guided predictions are rescaled to the standard deviation of the unguided ones: 0 "
           "(default) not at all; 0.7 avoids overexposure of models that predict v")
      ->group(group);
  add_integer(command, "--clip-skip", options.settings.clip_skip, 1, families::most_clip_layers,
              "Which layer of CLIP the prompt is read from, counted from its last, 1; default 1, XL 2. Other "
              "programs' 'Clip skip: 2' is 2")
      ->group(group);
  add_real(command, "--aesthetic-score", options.settings.aesthetic_score, families::aesthetic_range,
           "The aesthetic score that a refiner is given for the prompt; default 6")
      ->group(group);
  add_real(command, "--negative-aesthetic-score", options.settings.negative_aesthetic_score,
           families::aesthetic_range,
           "The aesthetic score that a refiner is given for the negative prompt; default 2.5")
      ->group(group);
}

/// One of the 2^32 seeds with distinct noise.
std::uint64_t random_seed() { return std::random_device{}(); }

}  // namespace

families::Request RunOptions::request(const std::string& usual_prompt) const {
  families::Request request;
  static_cast<families::Settings&>(request) = settings;
  const bool none = prompts->count() == 0 && !prompts_file && !usual_prompt.empty();
  request.prompts = none ? std::vector{usual_prompt} : read_prompts(prompts->results(), prompts_file);
  if (negative->count()) request.negative = negative->results().back();
  request.cfg_scale = cfg_scale.value_or(1);
  return request;
}

void RunOptions::resolve_guidance(const families::Pipeline& pipeline, families::Request& request) const {
  if (!cfg_scale || pipeline.family().guidance_is_distilled()) return;
  if (settings.guidance && *settings.guidance != *cfg_scale)
    throw UsageError("--guidance " + shortest(*settings.guidance) + " and --cfg-scale " +
                     shortest(*cfg_scale) + " contradict each other: for a model of the family " +
                     std::string(pipeline.family().name()) + " they are one setting: leave one out");
  request.guidance = cfg_scale;
}

void note_device(const std::string& asked_for, const families::ChosenDevice& chosen) {
  if (asked_for == "auto" && !chosen.reason.empty())
    notes() << "device auto: " << chosen.name << " (" << chosen.reason << ")\n";
}

void RunOptions::note_device(const families::ChosenDevice& chosen) const {
  cli::note_device(device, chosen);
  if (random_seed) notes() << "seed random: " << settings.seed << "\n";
}

void set_threads(const std::optional<int>& threads) {
  if (threads) host::set_threads(*threads);
}

CLI::Option* add_integer(CLI::App& command, const std::string& names, std::optional<int>& value, int low,
                         int high, const std::string& description) {
  return command
      .add_option_function<std::string>(
          names,
          [=, &value, name = names.substr(0, names.find(','))](const std::string& text) {
            value = static_cast<int>(parse_integer(name, text, low, high));
          },
          description)
      ->type_name("N");
}

void add_model_option(CLI::App& command, std::optional<std::string>& model) {
  command
      .add_option(
          "--model,-m", model,
          "Model folder as diffusers saves it, a transformer's or all-in-one file in such a folder, or "
          "the name of a model in Hugging Face's cache, such as black-forest-labs/FLUX.1-schnell; "
          "shapes or shapes-flux, the Flux that comes with the program, which is the default, or shapes-sd, "
          "its Stable Diffusion")
      ->type_name("PATH");
}

void add_device_option(CLI::App& command, std::string& device, const std::string& description) {
  command.add_option("--device", device, description)
      ->type_name("auto|cpu|cuda|cuda:N")
      ->capture_default_str();
}

void add_threads_option(CLI::App& command, std::optional<int>& threads, const std::string& unaffected) {
  add_integer(
      command, "--threads", threads, 1, host::most_threads,
      "CPU threads; default: what PRECAST_THREADS says, or a thread for each core that the process may "
      "run on" +
          (unaffected.empty() ? "" : "; " + unaffected));
}

void add_run_options(CLI::App& command, RunOptions& options) {
  // Not bound to a variable: CLI11 would parse "[a, b]" and "{}" as lists.
  options.prompts = command
                        .add_option("--prompt,-p",
                                    "What to paint; several texts for several pictures, - for lines of stdin")
                        ->type_name("TEXT...")
                        ->take_all();
  options.negative =
      command
          .add_option("--negative,--negative-prompt,-n",
                      "What to avoid, where --cfg-scale (of Stable Diffusion --guidance) is above 1")
          ->type_name("TEXT");
  add_model_option(command, options.model);
  add_component_options(command, options.component_files);
  add_device_option(command, options.device);
  command
      .add_option_function<std::string>(
          "--seed,-s",
          [&](const std::string& text) {
            options.random_seed = text == "-1" || text == "random";
            options.settings.seed =
                options.random_seed ? random_seed() : parse_seed("--seed", text, ", or random");
          },
          "Draws what torch.Generator(\"cpu\").manual_seed(N) draws; random (or -1): a new one, which is "
          "printed and recorded; default 0")
      ->type_name("N|random");
  add_integer(command, "--steps,--num-inference-steps", options.settings.steps, 1, families::most_steps,
              "Denoising steps; default: the model's");
  command
      .add_option_function<std::string>(
          "--guidance,--guidance-scale",
          [&](const std::string& text) {
            options.settings.guidance = parse_real("--guidance", text, families::guidance_range);
          },
          "How closely to follow the prompt; default: the model's, else 3.5 for Flux, where it is an input "
          "of models that were trained with it, and 7.5 for Stable Diffusion, XL 5, LCM 8.5, where it is "
          "classifier-free guidance and 1 is without")
      ->type_name("G");
  command
      .add_option_function<std::string>(
          "--cfg-scale,--true-cfg-scale",
          [&](const std::string& text) {
            options.cfg_scale = parse_real("--cfg-scale", text, families::cfg_range);
          },
          "Classifier-free guidance: how far to go from --negative to --prompt; 1 (default): without, above: "
          "twice the time. Of Stable Diffusion the same as --guidance")
      ->type_name("C");
  add_integer(command, "--width,-W", options.settings.width, 1, families::largest_side,
              "Pixels; default: the model's, else 1024 for Flux, 512 for Stable Diffusion")
      ->type_name("W");
  add_integer(command, "--height,-H", options.settings.height, 1, families::largest_side,
              "Pixels; default: the model's, else 1024 for Flux, 512 for Stable Diffusion")
      ->type_name("H");
  add_integer(command, "--max-sequence-length", options.settings.max_sequence_length, 1, 1 << 20,
              "Tokens that T5 sees; default: 512, or its tokenizer's limit if smaller");
  add_integer(
      command, "--t5-padding", options.settings.padding, 1, 1 << 20,
      "Pads T5's tokens to N, and leaves longer prompts as they are; 256 is what ComfyUI does; default: "
      "--max-sequence-length, as diffusers does. Another padding gives another picture");
  command.add_flag(
      "--vae-tiling", options.settings.vae_tiling,
      "The VAE works through pictures of more than 65,536 pixels in bands of rows, with the whole "
      "picture's statistics: the same picture but for rounding, in less memory, and slower; default: "
      "off");
  add_stable_diffusion_options(command, options);
  add_threads_option(command, options.threads, "the picture does not depend on them");
  add_quiet_option(command);
}

void add_quiet_option(CLI::App& command) {
  command.add_flag_callback(
      "--quiet,-q", [] { set_quiet(); }, "Nothing on stderr but warnings and errors");
}

void ChosenPolicies::tell() const {
  if (by_auto) notes() << "preset auto: " << by_auto->preset.name << " (" << by_auto->reason << ")\n";
}

ChosenPolicies chosen_policies(const PolicyOptions& options, const RunOptions& run,
                               const families::ModelFiles& model, families::Request& request,
                               const families::ChosenDevice& device) {
  if (!options.automatic()) return {resolved_components(options, {}), std::nullopt};
  const auto candidates = compiled_candidates([&](const PolicyChoice& choice) {
    const auto pipeline = families::open(model, families::ComponentChoices::all(choice), *device.backend);
    run.resolve_guidance(*pipeline, request);
    return pipeline->estimate(request).needed();
  });
  const AutoChoice chosen = choose_preset(machine_of(device), candidates);
  return {resolved_components(options, chosen.preset.choice), chosen};
}

}  // namespace precast::cli
