// One run of precast train, which writes a model and checkpoints.
#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <cli/options/given_files.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/train/train_checkpoints.hpp>
#include <cli/train/train_folder.hpp>
#include <cli/train/train_log.hpp>
#include <cli/train/train_modes.hpp>
#include <cli/train/train_resume.hpp>
#include <cli/train/train_run.hpp>
#include <cli/train/train_settings.hpp>
#include <cli/train/train_signals.hpp>
#include <cli/train/train_summary.hpp>
#include <language_model/training_device.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// Creates and locks the folder of --output. Only on rank 0, since the destructors of several ranks would
/// remove each other's folder.
std::unique_ptr<OutputFolder> take_folder(const TrainOptions& options, const cluster::Communicator& job) {
  check_train_folder(options);
  if (job.rank() != 0) return nullptr;
  auto folder = std::make_unique<OutputFolder>(options.output);
  check_train_folder(options);  // again, since another run may have written before the lock
  return folder;
}

std::vector<std::filesystem::path> files_of_run(const TrainOptions& options) {
  const std::filesystem::path folder = options.output;
  return {folder / checkpoint_file, folder / language_model::model_file, folder / "config.json",
          folder / tokenizer_file};
}

/// Throws UsageError if the run would overwrite its training or validation data.
void check_run_keeps_inputs(const TrainOptions& options) {
  check_inputs_stay(files_of_run(options),
                    std::array<std::filesystem::path, 3>{options.data, options.batches, options.validation});
}

/// Throws, before training, if an output cannot be written or the log is another output's file.
void check_files_of_run(const TrainOptions& options) {
  std::vector<std::filesystem::path> files = files_of_run(options);
  if (!options.log.empty()) files.emplace_back(options.log);
  check_output_files(files);
}

/// Throws if the command line contradicts the settings of the model or the checkpoint, or if this rank's
/// settings differ from rank 0's.
void require_settings(const TrainOptions& options, const CLI::App& command, TrainSettings settings,
                      const std::optional<ResumedRun>& resumed, const TrainInputs& inputs,
                      cluster::Communicator& job) {
  if (!options.model.empty()) require_settings_of_model(command, settings);
  if (resumed) require_same_settings(command, settings, resumed->settings);
  settings["--resume"] = resumed ? "given" : "";
  require_same_on_all_ranks(std::move(settings), inputs, job);
}

}  // namespace

void train_one(TrainOptions& options, CLI::App& command, const families::ChosenDevice& chosen,
               cluster::Communicator& job) {
  const language_model::TrainingDevice device = language_model::training_on(chosen);
  const bool is_first = job.rank() == 0;  // the only one that writes
  const std::unique_ptr<OutputFolder> folder = take_folder(options, job);
  const GivenOptions given(command);
  std::optional<ResumedRun> resumed = open_run_to_resume(options, command);
  check_run_keeps_inputs(options);
  resolve_training(options, command);
  options.training.policy = language_model::training_policy(options.training.policy).name;

  const language_model::DataParallel parallel = data_parallel(options, job);
  TrainInputs inputs = open_inputs(options, job, device, parallel);
  check_config_of_folder(options, inputs.config.json());
  const TrainSettings settings = settings_of(options, inputs, job.size());
  require_settings(options, command, settings, resumed, inputs, job);

  language_model::Trainer trainer(inputs.config, options.training, inputs.values, device, parallel);
  inputs.values.clear();  // the trainer has copied them
  if (resumed) resume_training(trainer, resumed, options);
  if (trainer.done()) {
    if (is_first) end_as_done(trainer, options);
    return;
  }

  if (is_first) check_files_of_run(options);
  Checkpoints checkpoints(trainer, inputs, settings_text(settings), options, is_first);
  TrainLog log(is_first ? options.log : "", trainer.next_step());
  if (is_first) warn_of_unused_options(given, {&options.training.policy, 1}, job.size());
  note_device(options.device, chosen);
  const auto save_on_interrupt = [&] { return checkpoints.save_on_interrupt(); };
  const auto after_step = [&](const language_model::StepFacts& step) {
    log.write_or_leave(step, "", save_on_interrupt);
    checkpoints.after_step();
  };
  const TrainedRun run = train_to_the_end(trainer, job, inputs,
                                          {.save_on_interrupt = save_on_interrupt, .after_step = after_step});

  if (is_first) {
    write_trained_model(trainer, options.output);
    show(run, sampled_text(trainer, inputs, options), options);
    if (!options.json) notes() << "wrote " << io::shown(options.output) << "\n";
  }
  end_together(job);
}

}  // namespace precast::cli
