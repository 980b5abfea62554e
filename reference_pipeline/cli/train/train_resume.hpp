// Resumes a run for precast train --resume.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>
#include <cli/train/train_settings.hpp>
#include <language_model/trainer.hpp>

#include <precast/io/safetensors.hpp>

namespace precast::cli {

/// A checkpoint, open until its state is read (opening it reads the whole file), and its
/// settings.
struct ResumedRun {
  io::SafetensorsFile checkpoint;
  TrainSettings settings;
};

/// Opens the checkpoint of --output, and sets each option that the command line leaves out to the
/// checkpoint's value; nothing without --resume. Throws InputError if it is missing or damaged, and
/// UsageError if --log or --report would overwrite its data.
std::optional<ResumedRun> open_run_to_resume(TrainOptions& options, CLI::App& command);

/// Restores the trainer from the checkpoint, and closes it. Throws InputError if it is another model's, and
/// UsageError if its step is past --steps.
void resume_training(language_model::Trainer& trainer, std::optional<ResumedRun>& resumed,
                     const TrainOptions& options);

/// Ends --resume of a finished run: does nothing, so that scripts can repeat the command, unless the run
/// was killed between its last checkpoint and writing the model.
void end_as_done(const language_model::Trainer& trainer, const TrainOptions& options);

}  // namespace precast::cli
