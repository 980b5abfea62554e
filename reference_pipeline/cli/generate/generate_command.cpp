// precast generate: from prompts to pictures.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include <casting/planned_weights.hpp>
#include <cli/commands.hpp>
#include <cli/generate/generate_options.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/preview_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/picture_settings/parameters_text.hpp>
#include <cli/running/latents_file.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/running/run_report.hpp>
#include <cli/running/trace_file.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <families/free_memory.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

io::OldFile old_files(const GenerateOptions& options) {
  return options.no_overwrite ? io::OldFile::kept : io::OldFile::replaced;
}

/// The prompts, each with the negative prompt, which is recorded beside it where it acts: what that takes,
/// the model says, and it is not open yet.
std::vector<std::string> recorded_texts(const families::Request& request) {
  std::vector<std::string> texts = request.prompts;
  if (request.negative)
    for (std::string& text : texts) text += *request.negative;
  return texts;
}

/// What was asked for and does nothing, beside what every run may say.
std::vector<std::string> generate_warnings(const GenerateOptions& options) {
  std::vector<std::filesystem::path> pictures{options.output};
  if (const auto preview = options.preview.file(options.output)) pictures.push_back(*preview);
  std::vector<std::string> warnings = quality_warnings(options.quality_option, pictures);
  if (options.preview.every && !options.start.image.empty() && options.start.strength == 0)
    warnings.emplace_back("--preview writes nothing: --strength 0 takes no step");
  return warnings;
}

/// Every file that will be written.
std::vector<std::filesystem::path> outputs_of(const GenerateOptions& options,
                                              const std::vector<std::filesystem::path>& pictures) {
  std::vector<std::filesystem::path> files = pictures;
  for (const std::string& name : {options.save_latents, options.trace})
    if (!name.empty()) files.emplace_back(name);
  if (const auto preview = options.preview.file(options.output)) files.push_back(*preview);
  return files;
}

/// None of them twice, and none that cannot be.
void check_outputs(const GenerateOptions& options, const std::vector<std::filesystem::path>& pictures) {
  const std::vector<std::filesystem::path> files = outputs_of(options, pictures);
  const auto preview = options.preview.file(options.output);
  for (const auto& file : files)
    if (options.no_overwrite && !is_standard_output(file) && io::is_there(file))
      throw InputError(io::shown(file) + " is there already, and --no-overwrite keeps it: give another name");
  const bool crowded = is_standard_output(options.output) && (pictures.size() > 1 || options.json);
  if (crowded || is_standard_output(options.save_latents) || is_standard_output(options.trace) ||
      (preview && is_standard_output(*preview)))
    throw UsageError("standard output holds one picture, and nothing beside it: name a file");
  check_output_files(files);
}

/// The policy of each role, under the name of the first component that has it.
Json policies_json(const families::Family& family, const families::ComponentChoices& choices) {
  Json policies = Json::object();
  std::set<families::Role> seen;
  for (const auto role : families::all_roles)
    for (const families::ComponentInfo& component : family.components())
      if (component.role == role && seen.insert(role).second)
        policies[std::string(component.name)] = families::spelling(choices.of(role));
  return policies;
}

Json result_json(const GenerateOptions& options, const PictureRun& run, const families::Family& family,
                 const families::ComponentChoices& choices, const families::ChosenDevice& device,
                 const std::string& model, const std::vector<std::filesystem::path>& files,
                 const std::vector<std::string>& warnings) {
  Json components = Json::object();
  for (const auto& [component, path] : options.run.component_files) components[component] = path;
  const families::Result& result = run.result;
  const auto optional = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json pictures = Json::array();
  for (std::size_t i = 0; i < files.size(); ++i)
    pictures.push_back({{"file", files[i].string()},
                        {"prompt", result.prompts[i]},
                        {"seed", families::picture_seed(result.used, static_cast<std::int64_t>(i))},
                        {"width", result.images[i].width},
                        {"height", result.images[i].height}});
  Json settings{{"steps", optional(result.used.steps)},
                {"guidance", optional(result.used.guidance)},
                {"max_sequence_length", optional(result.used.max_sequence_length)},
                {"width", optional(result.used.width)},
                {"height", optional(result.used.height)},
                {"batch", result.used.batch},
                {"seed_step", optional(result.used.seed_step)},
                {"t5_padding", optional(result.used.padding)},
                {"negative", optional(result.used.negative)},
                // Of Stable Diffusion it is the guidance.
                {"cfg_scale", family.guidance_is_distilled() ? Json(result.used.cfg_scale) : Json()},
                {"vae_tiling", result.used.vae_tiling},
                {"sampler", optional(result.used.sampler)},
                {"eta", optional(result.used.eta)},
                {"guidance_rescale", optional(result.used.guidance_rescale)},
                {"aesthetic_score", optional(result.used.aesthetic_score)},
                {"negative_aesthetic_score", optional(result.used.negative_aesthetic_score)},
                {"mask", options.start.mask.empty() ? Json() : Json(options.start.mask)},
                {"refiner", options.refiner ? Json(*options.refiner) : Json()},
                {"refiner_start", optional(result.used.refiner_start)}};
  if (!options.start.image.empty()) {
    settings["image"] = options.start.image;
    settings["strength"] = result.used.strength;
    settings["fit"] = to_string(result.used.fit);
  }
  const std::string advice = run.advice();
  const auto file_or_null = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
  return {
      {"pictures", pictures},
      {"model", model},
      {"components", components},
      {"device", device.name},
      {"seed", result.used.seed},
      {"settings", settings},
      {"precision", policy_text(choices)},
      {"plan", options.plan.empty() ? Json() : Json(options.plan)},
      {"policies", policies_json(family, choices)},
      {"seconds",
       {{"load", result.load_seconds},
        {"text", result.text_seconds},
        {"denoise", result.denoise_seconds},
        {"step", result.steps ? Json(result.denoise_seconds / static_cast<double>(result.steps)) : Json()},
        {"decode", result.decode_seconds},
        {"total", run.seconds}}},
      {"peak_bytes", result.peak_bytes},
      {"estimated_peak_bytes", run.result.estimate.peak()},
      {"peak_resident_bytes", families::peak_resident_memory()},
      {"non_finite",
       {{"latents", run.non_finite_latents},
        {"pixels", result.nan_values},
        {"ops", run.trace ? Json(run.trace->non_finite_values()) : Json()},
        {"advice", advice.empty() ? Json() : Json(advice)}}},
      {"warnings", warnings},
      {"latents", file_or_null(options.save_latents)},
      {"trace", file_or_null(options.trace)}};
}

/// Writes the last picture that there is.
void write_picture(const GenerateOptions& options, const families::Result& so_far,
                   const families::Family& family, const families::ComponentChoices& choices,
                   const std::string& model, const std::vector<std::pair<std::string, std::string>>& given,
                   const std::vector<std::filesystem::path>& files) {
  const std::size_t i = so_far.images.size() - 1;
  const PictureFacts facts{so_far.prompts[i],
                           model,
                           policy_text(choices),
                           static_cast<std::int64_t>(i),
                           static_cast<std::int64_t>(files.size()),
                           !options.start.image.empty(),
                           !options.latents.empty(),
                           so_far.sampler,
                           family.guidance_is_distilled(),
                           image::format_of_name(files[i]) == image::Format::png ? 0 : options.quality,
                           "",
                           given};
  const std::array texts{image::Text{"parameters", parameters_text(so_far.used, facts)}};
  write_output(files[i],
               image::encode_image(image::format_of_name(files[i]), so_far.images[i], texts, options.quality),
               old_files(options));
  if (!options.json && !is_standard_output(files[i])) notes() << "wrote " << io::shown(files[i]) << "\n";
}

/// What is about to run and the memory that it takes, on stderr.
void tell(const std::string& model, const families::Request& full, const families::MemoryEstimate& estimate,
          const families::ComponentChoices& choices, const families::ChosenDevice& device,
          std::size_t pictures) {
  notes() << model << ": " << (pictures == 1 ? "" : std::to_string(pictures) + " pictures, ") << *full.width
          << "x" << *full.height << ", " << io::counted(*full.steps, "step") << ", seed " << full.seed << ", "
          << policy_text(choices) << " on " << device.name << "; needs about " << in_bytes(estimate.peak());
  if (const std::int64_t free = machine_of(device).free_bytes)
    notes() << ", " << in_bytes(free) << " are free";
  notes() << "\n";
}

void generate(const GenerateOptions& options) {
  families::Request request = options.run.request();
  options.start.apply(request);
  check_picture_name(options.output, recorded_texts(request));
  request.preview = options.preview.wish(options.output, options.quality, old_files(options));
  request.written_as = image::Encoding{image::format_of_name(options.output), options.quality};
  const auto files = numbered(options.output, options.start.pictures(request));
  check_outputs(options, files);
  options.run.set_threads();
  options.start.read(request, {});  // a picture may take the place of the one that it starts from
  if (options.refiner) request.refiner = model_path(options.refiner);
  request.refiner_start = options.refiner_start;
  if (!options.latents.empty()) {
    request.latents = read_latents(options.latents);
    if (request.latents->shape()[0] != static_cast<std::int64_t>(files.size()))
      throw io::file_error(options.latents, "tensor 'latents' has shape " +
                                                to_string(request.latents->shape()) +
                                                ": --prompt and --batch ask for " +
                                                std::to_string(files.size()) + " pictures");
  }
  const families::ModelFiles model = options.run.files();
  const std::vector<std::filesystem::path> outputs = outputs_of(options, files);
  check_inputs_stay(outputs, model);
  check_inputs_stay(outputs, std::array<std::filesystem::path, 3>{options.plan, options.start.mask,
                                                                  options.run.prompts_file.value_or("")});
  auto given = given_files(model);
  if (!options.plan.empty()) given.emplace_back("Plan", given_name(options.plan));
  if (!options.start.mask.empty()) given.emplace_back("Mask", given_name(options.start.mask));
  if (options.refiner) given.emplace_back("Refiner", model_name(*request.refiner, options.refiner));
  const std::string name = model_name(model.model, options.run.model);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  std::optional<AutoChoice> chosen;
  if (options.policy.automatic()) chosen = chosen_by_auto(model, request, device);
  const families::ComponentChoices asked =
      resolved_components(options.policy, chosen ? chosen->preset.choice : PolicyChoice{});
  std::optional<casting::PlannedWeights> planned_weights;
  std::optional<families::ChangedWeights> planned;
  if (!options.plan.empty()) {
    planned_weights.emplace(casting::read_plan(options.plan), io::shown(options.plan));
    planned.emplace(*device.backend, *planned_weights);
  }
  const families::Backend& backend = planned ? *planned : *device.backend;
  const auto pipeline = families::open(model, asked, backend);
  const families::ComponentChoices& choices = pipeline->choices();
  if (planned && !pipeline->has_blocks())
    throw UsageError(
        "--plan: a model of this family is not cast as it is loaded: write it with `precast convert "
        "--plan`, and draw with that file as --transformer");
  options.run.settle_guidance(*pipeline, request);
  require_used(*pipeline, request);
  require_used(options.policy, pipeline->family());
  const families::MemoryEstimate estimate = pipeline->check(request);
  const families::Request full = pipeline->with_defaults(request);
  check_picture_size("--output", options.output, *full.width, *full.height);
  if (const auto preview = options.preview.file(options.output))
    check_picture_size("--preview-output", *preview, *full.width, *full.height);
  options.run.tell_device(device);
  if (chosen) notes() << "preset auto: " << chosen->preset.name << " (" << chosen->reason << ")\n";
  std::vector<std::string> warnings = run_warnings(*pipeline, request);
  for (const std::string& warning : generate_warnings(options)) warnings.push_back(warning);
  tell_warnings(warnings);
  tell(name, full, estimate, choices, device, files.size());
  if (request.image) tell_fit(options.start.image, *request.image, *full.width, *full.height, request.fit);
  const PictureRun run = run_pipeline(
      *pipeline, request,
      options.trace.empty() ? nullptr : std::make_unique<TraceFile>(options.trace, old_files(options)),
      [&](const families::Result& so_far) {
        write_picture(options, so_far, pipeline->family(), choices, name, given, files);
      });
  if (!options.save_latents.empty())
    write_latents(options.save_latents, run.result.latents, old_files(options));
  if (!options.trace.empty()) run.trace->commit();
  if (const std::string advice = run.advice(); !advice.empty())
    std::cerr << "precast: warning: " << advice << "\n";
  if (options.json)
    print(result_json(options, run, pipeline->family(), choices, device, name, files, warnings));
  notes() << run_summary(run, device.is_cuda) << "\n";
}

}  // namespace

void add_generate_command(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Makes pictures from prompts");
  add_generate_options(*command, *options);
  command->callback([options] { generate(*options); });
}

}  // namespace precast::cli
