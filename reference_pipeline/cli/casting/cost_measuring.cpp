#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <casting/castable.hpp>
#include <casting/measure.hpp>
#include <casting/merge_costs.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/casting/cost_resuming.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <convert/importance.hpp>
#include <families/registry.hpp>
#include <process/memory.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/content_hash.hpp>
#include <precast/io/message.hpp>
#include <precast/io/tensor_file.hpp>

namespace precast::cli {

namespace {

void check_measuring(const CostOptions& options) {
  if (options.only_estimates && !options.importance)
    throw UsageError("--estimates-only needs --importance: a file that `precast record --importance` wrote");
  if (options.only_estimates && !options.samples.empty())
    throw UsageError("--estimates-only runs nothing: leave out --samples, or measure without it");
  if (options.samples.empty() && !options.only_estimates)
    throw UsageError(
        "there is no --samples: give a file that `precast record` wrote, or --merge cost files, or "
        "--importance FILE --estimates-only");
}

/// The importance of each matrix of the blocks. Throws InputError if the file has none of them.
casting::ColumnImportance importance_of(const std::shared_ptr<const conversion::Importance>& importance,
                                        const families::Blocks& blocks) {
  for (const families::Block& block : blocks.list())
    for (const families::BlockParameter& parameter : block.parameters)
      if (parameter.role == families::BlockParameterRole::matrix &&
          !importance->of_parameter(parameter.name, parameter.shape.back()).empty())
        return [importance](const std::string& name, std::int64_t columns) {
          return importance->of_parameter(name, columns);
        };
  throw io::file_error(importance->path(), "has none of the matrices of the blocks, such as '" +
                                               blocks.list().front().parameters.front().name +
                                               "': give the importance of this model");
}

/// Bytes of the hidden states of one job: for each sample, one before the layer and one after it.
std::int64_t states_of_job(const casting::Samples& samples) {
  std::int64_t bytes = 0;
  for (const families::RecordedState& sample : samples.recorded)
    bytes += 2 * sample.state.hidden.elements() * static_cast<std::int64_t>(sizeof(f32));
  return bytes;
}

/// Loads another copy of the model's blocks for each further job, as long as memory has room for it and for
/// what the first job computes. `each`: bytes of a job, its blocks and hidden states.
void load_more(const families::Pipeline& pipeline, int jobs, std::int64_t each,
               const families::ProgressCallback& progress,
               std::vector<std::unique_ptr<families::Blocks>>& loaded) {
  while (std::ssize(loaded) < jobs) {
    const auto free = process::free_memory();
    if (free && 2 * each > *free) {
      print_warnings({"--jobs " + std::to_string(jobs) + ": each job takes " + in_bytes(each) + ", and " +
                      in_bytes(*free) + " are free: going on with " + std::to_string(loaded.size())});
      return;
    }
    loaded.push_back(pipeline.load_blocks(progress));
  }
}

void check_patch(const CostOptions& options) {
  if (!options.patch) return;
  if (!io::is_there(*options.patch))
    throw io::file_error(*options.patch, "is not there: give --patch a GGUF file of the same model");
  if (!io::TensorFile(*options.patch).gguf())
    throw UsageError("--patch is '" + io::printable(*options.patch) +
                     "': it must be a GGUF file of the same model, as precast convert writes it");
}

/// Sets the layers to measure: those of all jobs, and those of this one.
void choose_layers(const CostOptions& options, const families::ModelFiles& model,
                   const families::Blocks& blocks, casting::CostSettings& settings) {
  const std::int64_t count = std::ssize(blocks.list());
  if (count == 0)
    throw io::file_error(model.model,
                         "has no blocks, which are what costs are measured of: give another model");
  if (options.layers) {
    settings.whole = parse_layers(*options.layers, count);
  } else {
    settings.whole.resize(static_cast<std::size_t>(count));
    std::iota(settings.whole.begin(), settings.whole.end(), std::int64_t{0});
  }
  for (const std::int64_t place : places_of(options.part, std::ssize(settings.whole), "layers"))
    settings.layers.push_back(settings.whole[static_cast<std::size_t>(place)]);
}

/// The jobs worth starting: no more than threads or layers, and one for estimates, which take little time.
int useful_jobs(const CostOptions& options, const casting::CostSettings& settings) {
  if (options.only_estimates) return 1;
  const auto useful = std::min<std::int64_t>(host::threads(), std::ssize(settings.layers));
  return static_cast<int>(std::min<std::int64_t>(options.jobs.value_or(1), useful));
}

void warn_of_other_model(const casting::Samples& samples, const std::string& model) {
  const auto of = samples.facts.find("model");
  if (of != samples.facts.end() && of->second != model)
    print_warnings({"the samples were recorded from the model '" + io::printable(of->second) +
                    "', and this is '" + io::printable(model) + "'"});
}

/// Measures, and writes the file after each layer, so that Ctrl-C loses at most one.
casting::CostFile measured_layers(const CostOptions& options, const casting::CostSettings& settings,
                                  const casting::Samples& samples, const std::string& model,
                                  const std::vector<std::unique_ptr<families::Blocks>>& loaded,
                                  casting::SharedCostFile& written, casting::CostFile so_far,
                                  ProgressReporter& reporter) {
  std::vector<families::Blocks*> jobs;
  jobs.reserve(loaded.size());
  for (const auto& job : loaded) jobs.push_back(job.get());
  const auto left_behind = [&] {
    return io::is_there(io::followed_link(options.output))
               ? io::shown(options.output) + " has what was measured; the same command goes on from there"
               : std::string("nothing was written");
  };
  bool fits = false;  // a sample has run; until then no warning is printed, as an error is the only line
  try {
    return casting::measure_cost(
        jobs, samples.recorded, settings, std::move(so_far),
        [&](std::int64_t done, std::int64_t total) {
          throw_if_interrupted(left_behind());
          if (!std::exchange(fits, true)) warn_of_other_model(samples, model);
          reporter.update("cast", done, total);
        },
        [&](const casting::CostFile& all) { written.write(all); });
  } catch (const ShapeError& problem) {
    if (fits) throw;
    throw of_another_model(options.samples, samples, model, problem);
  }
}

}  // namespace

std::string missing_text(const casting::CostFile& file) {
  constexpr std::size_t most = 3;
  std::string text;
  const std::size_t named = std::min(most, file.missing.size()), more = file.missing.size() - named;
  for (std::size_t i = 0; i < named; ++i) text += (i ? ", " : "") + io::printable(file.missing[i], 60);
  return text + (more ? " and " + std::to_string(more) + " more" : "");
}

void warn_of_missing(const std::filesystem::path& path, const casting::CostFile& file,
                     const std::string& result) {
  if (!file.missing.empty())
    print_warnings({io::shown(path) + " lacks " + missing_text(file) + ": the " + result +
                    " is without them, until their costs are measured, or merged"});
}

InputError of_another_model(const std::filesystem::path& path, const casting::Samples& samples,
                            const std::string& model, const ShapeError& problem) {
  const std::string remedy = ": give samples that were recorded from it";
  const auto of = samples.facts.find("model");
  if (of == samples.facts.end() || of->second == model)
    return io::file_error(
        path, "does not fit the model '" + io::printable(model) + "' (" + problem.what() + ")" + remedy);
  return io::file_error(path, "was recorded from the model '" + io::printable(of->second) +
                                  "', and does not fit '" + io::printable(model) + "'" + remedy);
}

casting::CostFile measured_costs(const CostOptions& options) {
  check_measuring(options);
  casting::CostSettings settings;
  settings.types = parse_types(options.types);
  casting::require_types("--types", settings.types);
  settings.biases = options.biases;
  settings.granularity = options.granularity;
  settings.only_estimates = options.only_estimates;
  const PolicyChoice policy = parse_policy(options.policy);
  check_patch(options);
  set_threads(options.threads);
  const families::ModelFiles model = model_files(options.model, options.component_files);
  std::vector<std::filesystem::path> inputs{options.samples, options.importance.value_or(""),
                                            options.patch.value_or(""), model.model};
  for (const auto& [component, path] : model.components) inputs.push_back(path);
  check_inputs_stay(std::array<std::filesystem::path, 1>{options.output}, inputs);
  const std::string name = cast_model_name(model, options.model);
  const casting::Samples samples =
      options.only_estimates ? casting::Samples{} : casting::read_samples(options.samples);
  const auto importance =
      options.importance ? std::make_shared<const conversion::Importance>(*options.importance) : nullptr;
  std::optional<std::string> estimates;
  if (importance)
    estimates = "importance " + io::hash_text(importance->fingerprint()) + ", by the reference encoder";
  casting::SharedCostFile written(
      options.output);  // opened before it is read, since other processes may write it in between
  casting::CostFile so_far = results_so_far(options, name, samples, estimates);
  if (options.measure == casting::Measure::estimate && !importance && !so_far.has_estimates())
    throw UsageError(
        "--measure estimate shows what --importance FILE gives: add it, or leave out --measure estimate");
  const families::ChosenDevice device = families::choose_device(device_of(options.part, options.device));
  if (options.jobs.value_or(1) > 1 && device.is_cuda)
    throw UsageError("--jobs shares the CPU's threads, and the device is " + device.name +
                     ": add --device cpu");

  const auto pipeline = families::open(model, families::ComponentChoices::all(policy), *device.backend);
  const std::unique_ptr<nn::ParameterSource> patch =
      options.patch ? pipeline->other_weights(*options.patch) : nullptr;
  ProgressReporter reporter;
  const families::ProgressCallback loading = [&](const families::Progress& at) {
    throw_if_interrupted();
    reporter.update(at.stage, at.done, at.total);
  };
  const std::int64_t before = process::resident_memory();
  std::vector<std::unique_ptr<families::Blocks>> loaded;
  loaded.push_back(pipeline->load_blocks(loading));
  const families::Blocks& blocks = *loaded.front();
  const std::int64_t of_job = process::resident_memory() - before + states_of_job(samples);
  add_weights(options, blocks, name, so_far);
  choose_layers(options, model, blocks, settings);
  if (importance) settings.importance = importance_of(importance, blocks);
  if (patch) {
    settings.patch = patch.get();
    settings.patched_type = casting::patched_type(blocks, *patch);
  }
  load_more(*pipeline, useful_jobs(options, settings), of_job, loading, loaded);
  casting::CostFile file =
      measured_layers(options, settings, samples, name, loaded, written, std::move(so_far), reporter);
  reporter.wipe();
  return file;
}

}  // namespace precast::cli
