// What decides the bits of a training run, as its checkpoint keeps it, so that the run goes on as it began.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <cli/train/train_inputs.hpp>

#include <precast/io/safetensors.hpp>

namespace precast::cli {

/// Options by name with what they were, given or not: {"--lr", "0.001"}; and "data", a number that tells data
/// apart.
using TrainSettings = std::map<std::string, std::string>;

/// Those of a run on so many ranks.
TrainSettings settings_of(const TrainOptions& options, const TrainInputs& inputs, int ranks);

/// As text for a checkpoint, and those of one. Throws InputError where the file has none.
std::string settings_text(const TrainSettings& settings);
/// What --resume goes on from. Throws InputError where it is not there, cut off or damaged.
io::SafetensorsFile open_checkpoint_to_resume(const std::filesystem::path& checkpoint);
TrainSettings settings_of_checkpoint(const io::SafetensorsFile& checkpoint);

/// Sets each option that the command line leaves out to what the checkpoint has. Throws InputError where that
/// is no value of it.
void take_settings(CLI::App& command, const TrainSettings& kept, const std::filesystem::path& checkpoint);

/// Throws InputError on every rank of a job where one was given other options, data or another model than
/// rank 0: sums of unequal sizes would damage memory, and of unequal steps the model.
void require_same_on_all_ranks(TrainSettings now, const TrainInputs& inputs, cluster::Communicator& job);
/// The same of options alone.
void require_same_on_all_ranks(const TrainSettings& now, cluster::Communicator& job);

/// Throws UsageError that names the first option of a new model which the command line has, and the model
/// that is gone on from has otherwise.
void require_settings_of_model(const CLI::App& command, const TrainSettings& now);

/// Throws UsageError, naming each option that the command line has and the checkpoint has otherwise.
/// Another number of ranks may have another --batch: the trainer asks for as many windows a step.
void require_same_settings(const CLI::App& command, const TrainSettings& now, const TrainSettings& kept);

}  // namespace precast::cli
