// precast generate: generates pictures from prompts.
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <casting/castable.hpp>
#include <casting/plan_file.hpp>
#include <casting/plan_source.hpp>
#include <cli/commands.hpp>
#include <cli/generate/generate_options.hpp>
#include <cli/generate/generate_result.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/preview_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/running/latents_file.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/running/require_watch.hpp>
#include <cli/running/run_report.hpp>
#include <cli/running/trace_file.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <families/changed_weights.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::cli {

namespace {

/// The texts that pictures record: each prompt, with the negative prompt. Whether the latter has any effect
/// is known only once the model is open.
std::vector<std::string> recorded_texts(const families::Request& request) {
  std::vector<std::string> texts = request.prompts;
  if (request.negative)
    for (std::string& text : texts) text += *request.negative;
  return texts;
}

/// Options without effect, and the warnings of every run.
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

/// Throws if two outputs are the same file, or one cannot be written.
void check_outputs(const GenerateOptions& options, const std::vector<std::filesystem::path>& pictures) {
  const std::vector<std::filesystem::path> files = outputs_of(options, pictures);
  const auto preview = options.preview.file(options.output);
  for (const auto& file : files)
    if (options.no_overwrite && !is_standard_output(file) && io::is_there(file))
      throw InputError(io::shown(file) + " already exists, and --no-overwrite keeps it: give another name");
  check_names_file("--save-latents", options.save_latents, "the latents");
  check_names_file("--trace", options.trace, "the trace");
  check_names_file("--preview-output", options.preview.output, "the previews");
  if (is_standard_output(options.output) && (pictures.size() > 1 || options.json))
    throw UsageError("standard output holds one picture, and nothing else: name a file");
  check_output_files(files);
}

/// Makes previews optional: if one cannot be written, the run goes on with a warning and without further
/// previews.
std::optional<families::PreviewRequest> best_effort(std::optional<families::PreviewRequest> request) {
  if (!request) return request;
  request->show = [show = request->show, lost = false](const families::Preview& preview) mutable {
    if (lost) return;
    try {
      show(preview);
    } catch (const InputError& failed) {
      lost = true;
      print_warnings({std::string(failed.what()) + "; the run continues without previews"});
    }
  };
  return request;
}

/// The request of the options; only files of prompts are read here.
families::Request asked_for(const GenerateOptions& options) {
  families::Request request = options.run.request();
  options.start.apply(request);
  check_picture_name(options.output, recorded_texts(request));
  request.preview =
      best_effort(options.preview.request(options.output, options.quality, options.old_files()));
  request.written_as = image::Encoding{image::format_of_name(options.output), options.quality};
  return request;
}

/// Reads the request's initial picture, mask and latents.
void read_start(const GenerateOptions& options, std::size_t pictures, families::Request& request) {
  options.start.read(request, {});  // `check_all_inputs_stay` checks outputs against these
  if (options.latents.empty()) return;
  request.latents = read_latents(options.latents);
  if (request.latents->shape()[0] != static_cast<std::int64_t>(pictures))
    throw io::file_error(options.latents,
                         "tensor 'latents' has shape " + to_string(request.latents->shape()) +
                             ": --prompt and --batch ask for " + std::to_string(pictures) + " pictures");
}

/// Throws if an output is an input. Only pictures may overwrite the initial picture, which is in memory by
/// then.
void check_all_inputs_stay(const GenerateOptions& options, const families::ModelFiles& model,
                           const families::Request& request, std::span<const std::filesystem::path> outputs) {
  check_inputs_stay(outputs, model);
  check_inputs_stay(outputs,
                    std::array<std::filesystem::path, 4>{options.plan, options.start.mask, options.latents,
                                                         options.run.prompts_file.value_or("")});
  check_inputs_stay(outputs_of(options, {}), std::array<std::filesystem::path, 1>{options.start.image});
  if (request.refiner) check_inputs_stay(outputs, families::ModelFiles(*request.refiner));
}

/// Label and name of each file that was given in addition to the model.
std::vector<std::pair<std::string, std::string>> given_beside(const GenerateOptions& options,
                                                              const families::ModelFiles& model,
                                                              const families::Request& request) {
  auto given = given_files(model);
  if (!options.plan.empty()) given.emplace_back("Plan", given_name(options.plan));
  if (!options.start.mask.empty()) given.emplace_back("Mask", given_name(options.start.mask));
  if (request.refiner) given.emplace_back("Refiner", model_name(*request.refiner, options.start.refiner));
  return given;
}

/// Casts layers by the plan in a file.
families::WeightsChange change_by(const std::string& path) {
  casting::Plan plan = casting::read_plan(path);
  casting::require_types(io::shown(path), plan.formats());
  return [plan = std::move(plan), path](const nn::ParameterSource& weights, const auto& load) {
    const casting::PlanSource planned(weights, plan);
    load(planned);
    planned.check_all_found(io::shown(path));
  };
}

/// Throws for options without use in this model and for lack of memory. Settles the request's guidance.
families::MemoryEstimate checked_estimate(const GenerateOptions& options, const families::Pipeline& pipeline,
                                          families::Request& request) {
  if (!options.plan.empty() && !pipeline.has_blocks())
    throw UsageError(
        "--plan: a model of this family is not cast as it is loaded: write it with `precast convert "
        "--plan`, and draw with that file as --transformer");
  options.run.resolve_guidance(pipeline, request);
  require_used(pipeline, request);
  require_used(options.policy, pipeline.family());
  return pipeline.check(request);
}

/// Prints what will run and the memory it needs, on stderr.
void tell(const GenerateJob& job, const families::ResolvedRequest& full,
          const families::MemoryEstimate& estimate) {
  const std::size_t pictures = job.files.size();
  notes() << job.model << ": " << (pictures == 1 ? "" : std::to_string(pictures) + " pictures, ")
          << full.width << "x" << full.height << ", " << io::counted(full.steps, "step") << ", seed "
          << full.seed << ", " << policy_text(job.pipeline.choices()) << " on " << job.device.name
          << "; needs about " << in_bytes(estimate.peak());
  if (const std::int64_t free = machine_of(job.device).free_bytes)
    notes() << ", " << in_bytes(free) << " are free";
  notes() << "\n";
}

void generate(const GenerateOptions& options) {
  require_one_process();
  if (!options.trace.empty()) require_watch("--trace");
  families::Request request = asked_for(options);
  const auto files = numbered(options.output, options.start.pictures(request));
  check_outputs(options, files);
  set_threads(options.run.threads);
  read_start(options, files.size(), request);
  const families::ModelFiles model = options.run.files();
  check_all_inputs_stay(options, model, request, outputs_of(options, files));
  const families::ChosenDevice device = families::choose_device(options.run.device);
  if (!options.plan.empty()) request.change_weights = change_by(options.plan);
  const ChosenPolicies policies = chosen_policies(options.policy, options.run, model, request, device);
  const auto pipeline = families::open(model, policies.components, *device.backend);
  const families::MemoryEstimate estimate = checked_estimate(options, *pipeline, request);
  const families::ResolvedRequest full = pipeline->with_defaults(request);
  check_picture_size("--output", options.output, full.width, full.height);
  if (const auto preview = options.preview.file(options.output))
    check_picture_size("--preview-output", *preview, full.width, full.height);

  const GenerateJob job{options,
                        *pipeline,
                        device,
                        model_name(model.model, options.run.model),
                        given_beside(options, model, request),
                        files};
  options.run.note_device(device);
  policies.tell();
  std::vector<std::string> warnings = run_warnings(*pipeline, request);
  for (const std::string& warning : generate_warnings(options)) warnings.push_back(warning);
  print_warnings(warnings);
  tell(job, full, estimate);
  if (request.image) note_fit(options.start.image, *request.image, full.width, full.height, request.fit);

  const PictureRun run = run_pipeline(
      *pipeline, request,
      options.trace.empty() ? nullptr : std::make_unique<TraceFile>(options.trace, options.old_files()),
      [&](const families::Result& so_far) { write_picture(job, so_far); });
  if (!options.save_latents.empty())
    write_latents(options.save_latents, run.result.latents, options.old_files());
  if (!options.trace.empty()) run.trace->commit();
  if (const std::string advice = run.advice(); !advice.empty())
    std::cerr << "precast: warning: " << advice << "\n";
  if (options.json) print(generate_json(job, run, warnings));
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
