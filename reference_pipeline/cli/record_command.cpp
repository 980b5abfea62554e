// precast record: what a denoiser's blocks start from while pictures form, for precast cost.
#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <casting/sample_file.hpp>
#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/given_files.hpp>
#include <cli/interrupt.hpp>
#include <cli/model_path.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/picture_options.hpp>
#include <cli/progress.hpp>
#include <cli/run_options.hpp>
#include <cli/run_report.hpp>
#include <cli/start_options.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

struct RecordOptions {
  RunOptions run;
  PolicyOptions policy;
  StartOptions start;
  std::optional<int> every;
  std::string output = "samples.safetensors";
  bool json = false;
};

/// How the samples were made: everything that they depend on.
std::map<std::string, std::string> facts_of(const RecordOptions& options, const families::Request& full,
                                            const families::ComponentChoices& choices,
                                            const std::string& model, std::int64_t every) {
  std::map<std::string, std::string> facts{
      {"model", model},
      {"prompts", Json(full.prompts).dump(-1, ' ', false, Json::error_handler_t::replace)},
      {"seed", std::to_string(full.seed)},
      {"steps", std::to_string(*full.steps)},
      {"every", std::to_string(every)},
      {"batch", std::to_string(full.batch)},
      {"width", std::to_string(*full.width)},
      {"height", std::to_string(*full.height)},
      {"precision", policy_text(choices)}};
  if (full.seed_step) facts["seed_step"] = std::to_string(*full.seed_step);
  if (full.guidance) facts["guidance"] = shortest(*full.guidance);
  if (full.max_sequence_length) facts["max_sequence_length"] = std::to_string(*full.max_sequence_length);
  if (full.padding) facts["t5_padding"] = std::to_string(*full.padding);
  if (full.negative) facts["negative"] = *full.negative;
  if (full.cfg_scale != 1) facts["cfg_scale"] = shortest(full.cfg_scale);
  if (!options.start.image.empty()) {
    facts["image"] = options.start.image;
    facts["strength"] = shortest(full.strength);
  }
  return facts;
}

void record(const RecordOptions& options) {
  families::Request request = options.run.request();
  options.start.apply(request);
  options.start.pictures(request);
  if (is_standard_output(options.output)) throw UsageError("--output is '-': name a file for the samples");
  const std::array files{std::filesystem::path(options.output)};
  check_output_files(files);
  options.run.set_threads();
  if (!options.start.image.empty()) request.image = image::read_image(options.start.image).image;
  const families::ModelFiles model = options.run.files();
  check_inputs_stay(files, model);
  const std::string name = cast_model_name(model, options.run.model);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  std::optional<AutoChoice> chosen;
  if (options.policy.automatic()) chosen = chosen_by_auto(model, request, device);
  const families::ComponentChoices choices =
      resolved_components(options.policy, chosen ? chosen->preset.choice : PolicyChoice{});
  const auto pipeline = families::open(model, choices, *device.backend);
  require_used(*pipeline, request);
  pipeline->check(request);
  const families::Request full = pipeline->with_defaults(request);
  options.run.tell_device(device);
  if (chosen) notes() << "preset auto: " << chosen->preset.name << " (" << chosen->reason << ")\n";
  tell_warnings(run_warnings(*pipeline, request));
  if (request.image) tell_fit(options.start.image, *request.image, *full.width, *full.height, request.fit);

  const std::int64_t every = options.every.value_or(1);
  casting::Samples samples{facts_of(options, full, choices, name, every), {}};
  ProgressReporter reporter;
  pipeline->record(
      request, {every, [&](families::RecordedState state) { samples.recorded.push_back(std::move(state)); }},
      [&](const families::Progress& at) {
        throw_if_interrupted();
        reporter.update(at.stage, at.done, at.total);
      });
  reporter.wipe();
  if (samples.recorded.empty())
    throw UsageError("--strength leaves no step to record: raise it, or the number of steps");
  casting::write_samples(options.output, samples);
  const Shape& shape = samples.recorded.front().state.tokens.shape();
  if (options.json)
    print(Json{{"output", options.output},
               {"model", name},
               {"samples", samples.recorded.size()},
               {"tokens", shape[0]},
               {"width", shape[1]}});
  notes() << "wrote " << io::shown(options.output) << ": " << samples.recorded.size()
          << (samples.recorded.size() == 1 ? " sample" : " samples") << " of " << shape[0] << " tokens\n";
}

}  // namespace

void add_record_command(CLI::App& app) {
  const auto options = std::make_shared<RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Saves what a model's blocks start from while pictures form, for cost");
  add_run_options(*command, options->run);
  add_start_options(*command, options->run, options->start);
  add_policy_options(*command, options->policy);
  add_component_options(*command, options->policy);
  add_integer(*command, "--every", options->every, 1, 10000,
              "Steps from one sample to the next, beginning with the first; default 1: every step");
  command
      ->add_option(
          "--output,-o", options->output,
          "safetensors to write, F32: for sample N, N.img and N.txt [tokens, width], N.vec [1, width] "
          "(time, guidance and pooled text, before their silu), N.positions [tokens, axes], text first, "
          "and N.step: picture, step, timestep; how they were made in its metadata")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_flag("--json", options->json, "What was recorded, as JSON on stdout");
  command->footer(
      "Pictures are denoised as generate does it, and not decoded. With --cfg-scale above 1 samples are of "
      "the "
      "prompt's\n"
      "predictions. Samples at different times of different prompts tell more than many of one.\n"
      "\n"
      "Examples:\n"
      "  precast record --prompt \"a red circle\" \"a blue star\" --every 5\n"
      "  precast record --model ~/FLUX.1-dev --prompts-file prompts.txt --steps 20 --every 4 --preset fast "
      "--output dev.safetensors");
  command->callback([options] { record(*options); });
}

}  // namespace precast::cli
