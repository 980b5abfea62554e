#include <filesystem>
#include <string>
#include <utility>

#include <cli/options/arguments.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/train/train_folder.hpp>
#include <cli/train/train_resume.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

std::optional<ResumedRun> open_run_to_resume(TrainOptions& options, CLI::App& command) {
  if (!options.resume) return std::nullopt;
  const std::filesystem::path file = std::filesystem::path(options.output) / checkpoint_file;
  io::SafetensorsFile checkpoint = open_checkpoint_to_resume(file);
  TrainSettings settings = settings_of_checkpoint(checkpoint);
  take_settings(command, settings, file);
  check_inputs_of_training(options);  // again: the paths of the data may come from the checkpoint
  return ResumedRun{std::move(checkpoint), std::move(settings)};
}

void resume_training(language_model::Trainer& trainer, std::optional<ResumedRun>& resumed,
                     const TrainOptions& options) {
  trainer.read_checkpoint(resumed->checkpoint);
  resumed.reset();
  if (trainer.next_step() > options.training.steps)
    throw UsageError("--resume: the checkpoint is of step " + std::to_string(trainer.next_step()) +
                     ", and --steps is " + std::to_string(options.training.steps) + ": raise it");
}

void end_as_done(const language_model::Trainer& trainer, const TrainOptions& options) {
  const bool lacks_model = !trainer.is_written(options.output);
  if (lacks_model) write_trained_model(trainer, options.output);
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

}  // namespace precast::cli
