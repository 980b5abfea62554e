// What precast train --resume goes on from.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>
#include <cli/train/train_settings.hpp>
#include <language_model/trainer.hpp>

#include <precast/io/safetensors.hpp>

namespace precast::cli {

/// A checkpoint, open until its state is read (opening reads all of it), and the settings that it was written
/// under.
struct ResumedRun {
  io::SafetensorsFile checkpoint;
  TrainSettings settings;
};

/// Opens the checkpoint of --output, and sets each option that the command line leaves out to what it has;
/// nothing without --resume. Throws InputError where it is not there or damaged, and UsageError where --log
/// or --report would take the place of its data.
std::optional<ResumedRun> open_run_to_resume(TrainOptions& options, CLI::App& command);

/// Goes on from there, and closes it. Throws InputError where it is of another model, and UsageError where it
/// is of a later step than --steps.
void go_on(language_model::Trainer& trainer, std::optional<ResumedRun>& resumed, const TrainOptions& options);

/// What --resume does of a run that is done: nothing, so that a script may say it again, unless the run was
/// ended after its last checkpoint and before its model was written.
void end_as_done(const language_model::Trainer& trainer, const TrainOptions& options);

}  // namespace precast::cli
