// What precast train does: one run that leaves a model, or runs under several policies side by side.
#pragma once

#include <CLI/CLI.hpp>
#include <cli/train/train_options.hpp>
#include <cluster/job.hpp>
#include <families/device.hpp>

namespace precast::cli {

/// Trains under one policy, from the start or from a checkpoint, and writes model, checkpoints and log.
/// Throws UsageError and InputError for options and files that do not go together.
void train_one(TrainOptions& options, CLI::App& command, const families::ChosenDevice& chosen,
               cluster::Communicator& job);

/// Trains under each policy of --compare from the same values on the same data, and shows one table.
void compare_training(const TrainOptions& options, const CLI::App& command,
                      const families::ChosenDevice& chosen, cluster::Communicator& job);

}  // namespace precast::cli
