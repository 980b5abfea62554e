// One run of precast train: it leaves a model, and checkpoints on its way.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <cli/train/train_folder.hpp>
#include <cli/train/train_log.hpp>
#include <cli/train/train_modes.hpp>
#include <cli/train/train_report.hpp>
#include <cli/train/train_run.hpp>
#include <cli/train/train_settings.hpp>
#include <language_model/sample_text.hpp>
#include <language_model/training_device.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

using namespace language_model;

namespace {

std::string sampled(Trainer& trainer, const TrainInputs& inputs, const TrainOptions& options) {
  const std::int64_t count = options.sample.value_or(200);
  if (count == 0 || !inputs.tokenizer) return "";
  const std::vector<std::int32_t> window = inputs.batches->step(0);
  const auto start = std::span(window).first(static_cast<std::size_t>(inputs.batches->context()));
  constexpr double temperature = 0.8;
  ProgressReporter progress;
  const std::vector<std::int32_t> tokens =
      sample_tokens(trainer.model(), {start.begin(), start.end()}, count, inputs.batches->context(),
                    temperature, options.seed, [&](std::int64_t drawn) {
                      progress.update("sampling", drawn, count);
                      return interrupting_signal() == 0;  // what was drawn by then is shown
                    });
  return inputs.tokenizer->decode(tokens);
}

/// A sample as a terminal may show it: a model of bytes draws control characters, too, which would turn the
/// colours or the character set of all that follows.
std::string harmless(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const bool ends_line = text.substr(at).starts_with('\n') || text.substr(at).starts_with("\r\n");
    const std::size_t control = ends_line || text[at] == '\t' ? 0 : io::control_at(text, at);
    shown += control ? '?' : text[at];
    at += control ? control : 1;
  }
  return shown;
}

/// What a run came to, and a text by its model.
void show(const TrainedRun& run, const std::string& sample, const TrainOptions& options) {
  if (options.json) {
    Json json = run_json(run);
    json["output"] = options.output;
    json["sample"] = sample;
    return print(json);
  }
  const StepFacts& last = run.steps.back();
  print("loss " + four_digits(run.steps.front().loss) + " -> " + four_digits(last.loss) + " in " +
        io::counted(std::ssize(run.steps), "step") + ", " + std::to_string(run.skipped()) + " skipped, " +
        four_digits(middle_speed(run)) + " tokens/s, peak memory " + in_bytes(last.memory) +
        "\ngradient norm " + four_digits(last.grad_norm) + " in the last step, loss scale " +
        four_digits(last.scale) + ", " + std::to_string(run.non_finite()) +
        " values of gradients inf or NaN in all\n");
  if (const auto validation = run.validation_loss())
    print("validation loss " + four_digits(*validation) + "\n");
  if (run.failed_at())
    print("The loss is not finite from step " + std::to_string(*run.failed_at()) + " on.\n");
  if (!sample.empty()) print("\n" + harmless(sample) + "\n");
}

/// What --resume does of a run that is done: nothing, so that a script may say it again, unless the run was
/// ended after its last checkpoint and before its model was written.
void end_as_done(const Trainer& trainer, const TrainOptions& options) {
  const bool lacks_model = !trainer.is_written(options.output);
  if (lacks_model) trainer.write_model(options.output);
  if (options.json)
    return print(Json{
        {"policy", options.training.policy}, {"steps", trainer.next_step()}, {"output", options.output}});
  const std::string done = "The run was done before, at step " + std::to_string(trainer.next_step());
  if (lacks_model) {
    print(done + "; what was missing is the model.\n");
    notes() << "wrote " << io::shown(options.output) << "\n";
  } else if (options.training.schedule == train::Schedule::constant) {
    print(done + ": nothing was changed; raise --steps to train on.\n");
  } else {
    print(done + ", and the cosine ends there: nothing was changed; to train on, begin a run from " +
          io::shown(options.output) + " with --model and another --output.\n");
  }
}

/// What transformers writes of a tokenizer, and of how text is generated, beside a model.
constexpr std::array files_of_tokenizer{"tokenizer.json",
                                        "tokenizer_config.json",
                                        "tokenizer.model",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "generation_config.json"};

/// Those that lie beside the model that a run begins from, by their names: what it writes has them, too.
/// Nothing where that model is the one that is written over, whose files stay as they are.
std::optional<std::vector<std::pair<std::string, std::string>>> tokenizer_beside(
    const std::filesystem::path& model, const std::filesystem::path& output) {
  std::vector<std::pair<std::string, std::string>> files;
  std::error_code ignored;
  if (model.empty()) return files;
  if (std::filesystem::equivalent(model, output, ignored)) return std::nullopt;
  for (const char* name : files_of_tokenizer)
    if (std::filesystem::is_regular_file(model / name, ignored))
      files.emplace_back(name, io::MappedFile(model / name).text());
  return files;
}

/// What a run writes beside its log: checkpoints, and with the first of them what describes the model, so
/// that a run that fails sooner leaves a model of --output as it was. One rank writes.
class Checkpoints {
 public:
  Checkpoints(const Trainer& trainer, const TrainInputs& inputs, std::string settings,
              const TrainOptions& options, bool writes)
      : trainer_(trainer),
        inputs_(inputs),
        settings_(std::move(settings)),
        folder_(options.output),
        first_step_(trainer.next_step()),
        kept_step_(first_step_),
        writes_(writes),
        is_described_(options.resume),
        writes_over_(options.overwrite) {
    if (writes && !options.resume) beside_ = tokenizer_beside(options.model, folder_);
  }

  void write() {
    if (!writes_) return;
    try {
      write_now();
      kept_step_ = trainer_.next_step();
    } catch (const InputError& failed) {
      if (!is_described_) throw;
      throw InputError(std::string(failed.what()) + "; " + resumes_from(kept_step_));
    }
  }
  /// For a run that ends before its end: what it says that is there.
  std::string leave_behind() {
    if (trainer_.next_step() > first_step_) write();
    return is_described_ ? resumes_from(trainer_.next_step()) : "nothing was written";
  }

 private:
  static std::string resumes_from(std::int64_t step) {
    return "--resume goes on from the checkpoint of step " + std::to_string(step);
  }

  void write_now() {
    const std::filesystem::path checkpoint = folder_ / checkpoint_file;
    if (is_described_) return trainer_.write_checkpoint(checkpoint, settings_);
    std::vector<std::unique_ptr<io::AtomicFile>> files;
    const auto describe = [&](const char* name, const std::string& text) {
      files.push_back(std::make_unique<io::AtomicFile>(folder_ / name));
      files.back()->write(text);
    };
    describe("config.json", inputs_.config.json());
    if (inputs_.tokenizer) describe(tokenizer_file, inputs_.tokenizer->json());
    if (beside_)
      for (const auto& [name, text] : *beside_) describe(name.c_str(), text);
    // A full disk fails before any of them appears; who kills the run between them leaves no checkpoint that
    // lacks its config.
    trainer_.write_checkpoint(checkpoint, settings_, [&] {
      remove_other_model();
      for (const auto& file : files) file->commit();
    });
    is_described_ = true;
  }
  /// Takes away the model that was there before, whose weights would else be read under this one's config,
  /// and what it had of tokens, and this one does not.
  void remove_other_model() const {
    std::error_code ignored;
    if (!inputs_.tokenizer) std::filesystem::remove(folder_ / tokenizer_file, ignored);
    if (!writes_over_ || !beside_) return;
    for (const char* name : {checkpoint_file, model_file, "model.safetensors.index.json"})
      std::filesystem::remove(folder_ / name, ignored);
    for (const char* name : files_of_tokenizer)
      if (std::ranges::find(*beside_, name, &std::pair<std::string, std::string>::first) == beside_->end())
        std::filesystem::remove(folder_ / name, ignored);
  }

  const Trainer& trainer_;
  const TrainInputs& inputs_;
  std::string settings_;
  std::filesystem::path folder_;
  std::int64_t first_step_, kept_step_;
  bool writes_, is_described_, writes_over_;
  /// The model's tokenizer, by names of files.
  std::optional<std::vector<std::pair<std::string, std::string>>> beside_;
};

}  // namespace

void train_one(TrainOptions& options, CLI::App& command, const families::ChosenDevice& chosen,
               cluster::Communicator& job) {
  const TrainingDevice device = training_on(chosen);
  const bool is_first = job.rank() == 0;  // the only one that writes
  const std::filesystem::path folder = options.output, checkpoint = folder / checkpoint_file;
  check_train_folder(options);
  std::optional<OutputFolder> made;  // of one rank: another would take it away while this one writes
  if (is_first) {
    made.emplace(folder);
    check_train_folder(options);  // again: until now another run may have written there
  }
  const GivenOptions given(command);
  std::optional<io::SafetensorsFile> resumed;  // open until its state is read: opening reads all of it
  TrainSettings kept;
  if (options.resume) {
    resumed.emplace(open_checkpoint_to_resume(checkpoint));
    kept = settings_of_checkpoint(*resumed);
    take_settings(command, kept, checkpoint);
    check_inputs_of_training(options);  // the checkpoint may have named the data
  }
  const std::array written{checkpoint, folder / model_file, folder / "config.json", folder / tokenizer_file};
  check_inputs_stay(written,
                    std::array<std::filesystem::path, 3>{options.data, options.batches, options.validation});
  settle_training(options, command);
  options.training.policy = training_policy(options.training.policy).name;
  TrainInputs inputs = open_inputs(options, job, *device.backend);
  check_config_of_folder(options, inputs.config.json());
  const TrainSettings settings = settings_of(options, inputs, job.size());
  if (!options.model.empty()) require_settings_of_model(command, settings);
  if (options.resume) require_same_settings(command, settings, kept);
  TrainSettings of_job = settings;
  of_job["--resume"] = options.resume ? "given" : "";
  require_same_on_all_ranks(std::move(of_job), inputs, job);
  Trainer trainer(inputs.config, options.training, inputs.values, device, data_parallel(options, job));
  inputs.values.clear();  // the model has its own
  if (options.resume) {
    trainer.read_checkpoint(*resumed);
    resumed.reset();
    if (trainer.next_step() > options.training.steps)
      throw UsageError("--resume: the checkpoint is of step " + std::to_string(trainer.next_step()) +
                       ", and --steps is " + std::to_string(options.training.steps) + ": raise it");
    if (trainer.done()) {
      if (is_first) end_as_done(trainer, options);
      return;
    }
  }
  if (is_first) {
    // One that cannot be written, or a log in the place of another, is found before it is trained for.
    std::vector<std::filesystem::path> files(written.begin(), written.end());
    if (!options.log.empty()) files.emplace_back(options.log);
    check_output_files(files);
  }
  Checkpoints checkpoints(trainer, inputs, settings_text(settings), options, is_first);
  const auto leave_behind = [&] { return checkpoints.leave_behind(); };
  TrainLog log(is_first ? options.log : "", trainer.next_step());
  if (is_first) tell_unused(given, {&options.training.policy, 1}, job.size());
  tell_device(options.device, chosen);
  const std::int64_t every = options.checkpoint_every.value_or(50);
  const auto after_step = [&](const StepFacts& step) {
    log.write_or_leave(step, "", leave_behind);
    if ((step.step + 1) % every == 0 || trainer.done()) checkpoints.write();
  };
  const TrainedRun run = train_to_the_end(trainer, job, inputs, options.training.policy,
                                          options.training.steps, false, leave_behind, after_step);
  if (is_first) {
    trainer.write_model(folder);
    show(run, sampled(trainer, inputs, options), options);
    if (!options.json) notes() << "wrote " << io::shown(folder) << "\n";
  }
  end_together(job);
}

}  // namespace precast::cli
