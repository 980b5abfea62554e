// The settings that determine the bits of a training run, stored in checkpoints for resuming.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <cli/train/train_inputs.hpp>

#include <precast/io/safetensors.hpp>

namespace precast::cli {

/// Options and their values, given or default: {"--lr", "0.001"}; and "data", a hash of the
/// data.
using TrainSettings = std::map<std::string, std::string>;

/// The settings of a run on `ranks` ranks.
TrainSettings settings_of(const TrainOptions& options, const TrainInputs& inputs, int ranks);

/// Settings as text for a checkpoint, and read from one. Throws InputError if the file has none.
std::string settings_text(const TrainSettings& settings);
/// Opens the checkpoint for --resume. Throws InputError if it is missing, truncated or damaged.
io::SafetensorsFile open_checkpoint_to_resume(const std::filesystem::path& checkpoint);
TrainSettings settings_of_checkpoint(const io::SafetensorsFile& checkpoint);

/// Sets each option that the command line leaves out to the checkpoint's value. Throws InputError if the
/// option does not accept it.
void take_settings(CLI::App& command, const TrainSettings& kept, const std::filesystem::path& checkpoint);

/// Throws InputError on every rank if one has other options, data or another model than rank 0: all-reduces
/// of unequal sizes would corrupt memory, and unequal steps the model.
void require_same_on_all_ranks(TrainSettings now, const TrainInputs& inputs, cluster::Communicator& job);
/// The same for options alone.
void require_same_on_all_ranks(const TrainSettings& now, cluster::Communicator& job);

/// Throws UsageError that names the first option for a new model on the command line that contradicts the
/// given model.
void require_settings_of_model(const CLI::App& command, const TrainSettings& now);

/// Throws UsageError that names each option on the command line that contradicts the checkpoint. With
/// another number of ranks --batch may differ: the trainer requires the same windows per step.
void require_same_settings(const CLI::App& command, const TrainSettings& now, const TrainSettings& kept);

}  // namespace precast::cli
