// precast record: records the inputs of a denoiser's blocks during sampling, for precast cost.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <casting/sample_file.hpp>
#include <cli/commands.hpp>
#include <cli/generate/generate_result.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/running/require_watch.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <convert/write_importance.hpp>
#include <families/registry.hpp>

#include <precast/io/counted.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/message.hpp>
#include <precast/io/suffix.hpp>
#include <precast/watch/input_squares.hpp>

namespace precast::cli {

namespace {

struct RecordOptions {
  RunOptions run;
  PolicyOptions policy;
  StartOptions start;
  std::optional<int> every;
  std::string output = "samples.safetensors", importance;
  CLI::Option* output_option = nullptr;
  bool json = false;

  std::int64_t every_step() const { return every.value_or(1); }
};

/// The settings and files that the samples depend on, as generate --json has them.
std::map<std::string, std::string> facts_of_samples(const RecordOptions& options,
                                                    const families::Pipeline& pipeline,
                                                    const families::ResolvedRequest& full,
                                                    const std::string& model) {
  std::map<std::string, std::string> facts{{"model", model},
                                           {"prompts", io::json_line(Json(full.prompts))},
                                           {"seed", std::to_string(full.seed)},
                                           {"every", std::to_string(options.every_step())},
                                           {"precision", policy_text(pipeline.choices())}};
  for (const auto& [component, file] : options.run.component_files) facts[component] = file;
  Json settings = settings_json(options.start, pipeline, full);
  if (options.start.image.empty()) settings.erase("vae_tiling");  // without a picture the VAE does not run
  for (const auto& [key, value] : settings.items())
    if (!value.is_null()) facts[key] = value.is_string() ? value.get<std::string>() : io::json_line(value);
  return facts;
}

/// The files to be written: the samples, then the importance.
std::vector<std::filesystem::path> outputs_of(const RecordOptions& options) {
  std::vector<std::filesystem::path> files;
  const auto add = [&](const std::string& option, const std::string& name, const std::string& what) {
    check_names_file(option, name, what);
    files.emplace_back(name);
  };
  add("--output", options.output, "the samples");
  if (!options.importance.empty()) {
    add("--importance", options.importance, "the importance");
    if (io::suffix_of(files.back()) != ".gguf")
      throw UsageError("--importance is '" + io::printable(options.importance) +
                       "': it is a GGUF file: name one that ends in .gguf");
  }
  return files;
}

/// Throws if the model has no blocks to record, unless only its importance is wanted.
void require_something_to_record(const RecordOptions& options, const families::Pipeline& pipeline,
                                 const families::ChosenDevice& device) {
  if (!options.importance.empty() && device.is_cuda)
    throw UsageError("--importance is collected on the CPU, and the device is " + device.name +
                     ": add --device cpu");
  if (pipeline.has_blocks()) return;
  if (!options.importance.empty() && options.output_option->count() == 0) {
    if (options.every)
      throw UsageError(
          "--every applies to samples, and this model has none: its importance is that of all steps");
    return;
  }
  throw UsageError(
      "the blocks of a model of this family cannot be recorded: give a Flux or Stable Diffusion model, or "
      "only "
      "--importance FILE, which any model has");
}

/// Writes the importance of the denoiser's matrices. Returns their number.
std::size_t write_importance(const RecordOptions& options, const watch::InputSquares& squares,
                             const std::string& model) {
  const auto is_unet = [](const auto& layer) { return layer.first.starts_with("unet."); };
  const bool unet = std::ranges::any_of(squares.by_path(), is_unet);
  return conversion::write_importance(
      options.importance, squares, unet ? "unet" : "transformer",
      options.run.prompts_file.value_or("prompts") + " (precast record, " + model + ")");
}

/// Runs the request. Records the inputs of the model's blocks, if it has blocks, and the squared inputs of
/// its matrices, if asked for.
void run_recorded(const RecordOptions& options, const families::Pipeline& pipeline,
                  const families::Request& request, casting::Samples& samples, watch::InputSquares& squares) {
  std::optional<watch::CountingInputSquares> counting;
  if (!options.importance.empty()) counting.emplace(squares);
  ProgressReporter reporter;
  const families::ProgressCallback progress = [&](const families::Progress& at) {
    throw_if_interrupted();
    reporter.update(at.stage, at.done, at.total);
  };
  if (pipeline.has_blocks())
    pipeline.record(request,
                    {options.every_step(),
                     [&](families::RecordedState state) { samples.recorded.push_back(std::move(state)); }},
                    progress);
  else
    pipeline.generate(request, progress);
  reporter.clear();
  if (pipeline.has_blocks() && samples.recorded.empty())
    throw UsageError("--strength leaves no step to record: raise it, or the number of steps");
}

/// Writes both files, and reports them once both exist.
void write_recorded(const RecordOptions& options, const casting::Samples& samples, bool has_samples,
                    const watch::InputSquares& squares, const std::string& model) {
  Json json{{"model", model}};
  std::vector<std::string> lines;
  if (has_samples) {
    casting::write_samples(options.output, samples);
    const HostTensor<f32>& hidden = samples.recorded.front().state.hidden;  // of a UNet, pixels
    json["output"] = options.output;
    json["samples"] = samples.recorded.size();
    json["tokens"] = hidden.rows();
    json["width"] = hidden.columns();
    lines.push_back("wrote " + io::shown(options.output) + ": " +
                    io::counted(std::ssize(samples.recorded), "sample") + " of " +
                    std::to_string(hidden.rows()) + " tokens");
  }
  if (!options.importance.empty()) {
    const std::size_t matrices = write_importance(options, squares, model);
    json["importance"] = options.importance;
    json["matrices"] = matrices;
    lines.push_back("wrote " + io::shown(options.importance) + ": the importance of " +
                    std::to_string(matrices) + " matrices");
  }
  if (options.json) print(json);
  for (const std::string& line : lines) notes() << line << "\n";
}

void record(const RecordOptions& options) {
  require_one_process();
  if (!options.importance.empty()) require_watch("--importance");
  families::Request request = options.run.request();
  options.start.apply(request);
  options.start.pictures(request);
  std::vector<std::filesystem::path> files = outputs_of(options);
  set_threads(options.run.threads);
  const families::ModelFiles model = options.run.files();
  check_inputs_stay(files, model);
  check_inputs_stay(files, std::array<std::filesystem::path, 1>{options.run.prompts_file.value_or("")});
  options.start.read(request, files);
  if (io::suffix_of(options.output) != ".safetensors")
    throw UsageError("--output is '" + io::printable(options.output) +
                     "': samples are a safetensors file: name one that ends in .safetensors");
  const std::string name = cast_model_name(model, options.run.model);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  const ChosenPolicies policies = chosen_policies(options.policy, options.run, model, request, device);
  const auto pipeline = families::open(model, policies.components, *device.backend);
  require_something_to_record(options, *pipeline, device);
  if (!pipeline->has_blocks()) files.erase(files.begin());
  check_output_files(files);  // before any computation
  options.run.resolve_guidance(*pipeline, request);
  require_used(*pipeline, request);
  require_used(options.policy, pipeline->family());
  pipeline->check(request);
  const families::ResolvedRequest full = pipeline->with_defaults(request);
  options.run.note_device(device);
  policies.tell();
  print_warnings(run_warnings(*pipeline, request));
  if (request.image) note_fit(options.start.image, *request.image, full.width, full.height, request.fit);

  casting::Samples samples{facts_of_samples(options, *pipeline, full, name), {}};
  watch::InputSquares squares;
  run_recorded(options, *pipeline, request, samples, squares);
  write_recorded(options, samples, pipeline->has_blocks(), squares, name);
}

}  // namespace

void add_record_command(CLI::App& app) {
  const auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand(
      "record", "Saves the inputs of a model's blocks while it makes pictures, for precast cost");
  add_run_options(*command, options->run);
  add_count_options(*command, options->run, options->start);
  add_image_options(*command, options->start);
  add_policy_options(*command, options->policy);
  add_component_options(*command, options->policy);
  add_integer(*command, "--every", options->every, 1, families::most_steps,
              "Steps from one sample to the next, beginning with the first; default 1: every step");
  options->output_option =
      command
          ->add_option(
              "--output,-o", options->output,
              "safetensors to write, F32: for sample N of a Flux model, N.img and N.txt [tokens, width], "
              "N.vec [1, width] (time, guidance and pooled text, before their silu) and N.positions "
              "[tokens, axes], text first; of a UNet, N.img [predictions, height, width, channels] (the "
              "first convolution's result), N.txt [predictions, tokens, width] (what it attends to) and "
              "N.vec [predictions or 1, width] (the time and what is added to it, after the silu); of both "
              "N.step: picture, step, timestep; how they were made in its metadata")
          ->type_name("FILE")
          ->capture_default_str();
  command
      ->add_option(
          "--importance", options->importance,
          "GGUF to write beside it (.gguf): how large the inputs of each column of each of the "
          "denoiser's matrices are, for convert --importance, and as llama.cpp's imatrix has it. On "
          "the CPU; of a model of another family than Flux and Stable Diffusion it is all that is written")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "What was recorded, as JSON on stdout");
  command->footer(
      "Pictures are denoised as generate does it, and decoded only where importance is all that is written. "
      "With\n"
      "a CFG scale above 1 a Flux model's samples are of the prompt's predictions, and a UNet's of both, the "
      "negative's first. Samples at different times of different prompts tell more than many of one.\n"
      "\n"
      "Examples:\n"
      "  precast record --prompt \"a large red circle on a blue background, at the left\" \"a small blue "
      "star on a white background, at the top\" --every 5\n"
      "  precast record --model ~/FLUX.1-dev --prompts-file prompts.txt --steps 20 --every 4 --preset fast "
      "--output dev.safetensors\n"
      "  precast record --prompts-file prompts.txt --importance importance.gguf");
  command->callback([options] { record(*options); });
}

}  // namespace precast::cli
