// precast generate: from prompts to pictures.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include <casting/planned_weights.hpp>
#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/given_files.hpp>
#include <cli/latents_file.hpp>
#include <cli/model_path.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/parameters_text.hpp>
#include <cli/picture_options.hpp>
#include <cli/picture_run.hpp>
#include <cli/preview_options.hpp>
#include <cli/run_options.hpp>
#include <cli/run_report.hpp>
#include <cli/start_options.hpp>
#include <cli/trace_file.hpp>
#include <families/free_memory.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>

#include <precast/error.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

struct GenerateOptions {
  RunOptions run;
  PolicyOptions policy;
  PreviewOptions preview;
  StartOptions start;
  std::string latents, save_latents, trace, plan, mask;
  std::optional<std::string> refiner;
  std::optional<double> refiner_start;
  std::string output = "out.png";
  CLI::Option* quality_option = nullptr;
  int quality = image::usual_quality;
  bool no_overwrite = false, json = false;
};

void add_options(CLI::App& command, GenerateOptions& options) {
  add_run_options(command, options.run);
  CLI::Option* image = add_start_options(command, options.run, options.start);
  command
      .add_option(
          "--mask", options.mask,
          "Inpainting: a picture that is white where --image is painted anew, black where it stays; of\n"
          "models that were trained for it, and of all others too")
      ->type_name("FILE")
      ->needs(image)
      ->group("Stable Diffusion");
  CLI::Option* refiner =
      command
          .add_option("--refiner", options.refiner,
                      "A folder with a refiner of XL, or its name as in --model, which takes the last steps")
          ->type_name("PATH")
          ->excludes(image)
          ->group("Stable Diffusion");
  command
      .add_option_function<std::string>(
          "--refiner-start",
          [&](const std::string& text) { options.refiner_start = parse_real("--refiner-start", text, 0, 1); },
          "Where in the noise the refiner takes over, between 0 and 1; default 0.8")
      ->type_name("X")
      ->needs(refiner)
      ->group("Stable Diffusion");
  add_policy_options(command, options.policy);
  add_component_options(command, options.policy);
  command
      .add_option("--plan", options.plan,
                  "A plan (precast plan): the matrices of each of its layers are cast to the layer's format "
                  "and back as "
                  "they\nare loaded, to see what it does to pictures")
      ->type_name("FILE");
  const std::string group = "Files";
  command
      .add_option("--output,-o", options.output,
                  "Picture to write: .png, .jpg or .webp; out-1.png, out-2.png … where there are several, "
                  "out-01.png … from ten on; "
                  "- for standard output, as PNG")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(group);
  options.quality_option = add_quality_option(command, options.quality)->group(group);
  command
      .add_option("--latents", options.latents,
                  "The noise to start from: safetensors with one tensor 'latents', packed\n"
                  "[pictures, tokens, channels]; of Stable Diffusion [pictures, channels, height, width]")
      ->type_name("FILE")
      ->group(group)
      ->excludes(image);
  command
      .add_option("--save-latents", options.save_latents,
                  "Writes the final latents, laid out in the same way")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--trace", options.trace,
                  "JSON of every op: path, dtypes, shape, largest value, inf and NaN; and on\n"
                  "stderr the first value that is not finite, with the option that cures it")
      ->type_name("FILE")
      ->group(group);
  command
      .add_flag("--no-overwrite", options.no_overwrite,
                "Refuses to replace a file; looks before any work, and again when it writes")
      ->group(group);
  add_preview_options(command, options.preview);
  command.add_flag("--json", options.json, "What was made, as JSON on stdout");
  command.footer(
      "Examples:\n"
      "  precast generate --prompt \"a large red circle on a blue background, at the left\"\n"
      "  precast generate --prompt \"a star\" \"a ring\" --batch 2 --seed 7 --seed-step 1 --output "
      "shapes.png\n"
      "  precast generate -m black-forest-labs/FLUX.1-schnell -p \"a lighthouse\" -s random -o "
      "lighthouse.png\n"
      "  precast generate --model ~/FLUX.1-dev --prompt \"a lighthouse\" --preset memory --steps 20 --width "
      "768 "
      "--height 512\n"
      "  precast generate --prompt \"a green square\" --image out.png --strength 0.8 --output again.png\n"
      "  precast generate --model ~/sd-1.5 --prompt \"a cat\" --negative \"blurry\" --guidance 7 --sampler "
      "dpmpp_2m_karras --steps 20\n"
      "  precast generate --model ~/sd-1.5 --prompt \"a hat\" --image cat.png --mask head.png --strength "
      "0.9\n"
      "  precast generate --model ~/sdxl --refiner ~/sdxl-refiner --refiner-start 0.8 --prompt \"a cat\"\n"
      "  precast generate --prompt \"a cross\" --precision f16 --trace trace.json   # where does f16 "
      "overflow?\n"
      "\n"
      "--precision sets the precision of all components and keeps the preset's other options; without "
      "--preset it is\n"
      "a plain policy. --upcast-*, --flash and --no-flash change the preset; the options of a component come "
      "last.");
}

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
                {"cfg_scale", result.used.cfg_scale},
                {"sampler", optional(result.used.sampler)},
                {"eta", optional(result.used.eta)},
                {"guidance_rescale", optional(result.used.guidance_rescale)},
                {"mask", options.mask.empty() ? Json() : Json(options.mask)},
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
      {"estimated_peak_bytes", run.estimated_bytes},
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
          << "x" << *full.height << ", " << *full.steps << " steps, seed " << full.seed << ", "
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
  if (!options.start.image.empty()) request.image = image::read_image(options.start.image).image;
  if (!options.mask.empty()) request.mask = image::read_image(options.mask).image;
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
  check_inputs_stay(outputs,
                    std::array{std::filesystem::path(options.plan), std::filesystem::path(options.mask)});
  auto given = given_files(model);
  if (!options.plan.empty()) given.emplace_back("Plan", given_name(options.plan));
  if (!options.mask.empty()) given.emplace_back("Mask", given_name(options.mask));
  if (options.refiner) given.emplace_back("Refiner", model_name(*request.refiner, false));
  const std::string name = model_name(model.model, !options.run.model);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  std::optional<AutoChoice> chosen;
  if (options.policy.automatic()) chosen = chosen_by_auto(model, request, device);
  const families::ComponentChoices choices =
      resolved_components(options.policy, chosen ? chosen->preset.choice : PolicyChoice{});
  std::optional<casting::PlannedWeights> planned_weights;
  std::optional<families::ChangedWeights> planned;
  if (!options.plan.empty()) {
    planned_weights.emplace(casting::read_plan(options.plan), io::shown(options.plan));
    planned.emplace(*device.backend, *planned_weights);
  }
  const families::Backend& backend = planned ? *planned : *device.backend;
  const auto pipeline = families::open(model, choices, backend);
  require_used(*pipeline, request);
  pipeline->check(request);
  const families::Request full = pipeline->with_defaults(request);
  check_picture_size("--output", options.output, *full.width, *full.height);
  if (const auto preview = options.preview.file(options.output))
    check_picture_size("--preview-output", *preview, *full.width, *full.height);
  options.run.tell_device(device);
  if (chosen) notes() << "preset auto: " << chosen->preset.name << " (" << chosen->reason << ")\n";
  std::vector<std::string> warnings = run_warnings(*pipeline, request);
  for (const std::string& warning : generate_warnings(options)) warnings.push_back(warning);
  tell_warnings(warnings);
  tell(name, full, pipeline->estimate(request), choices, device, files.size());
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
  add_options(*command, *options);
  command->callback([options] { generate(*options); });
}

}  // namespace precast::cli
