// The modes of precast train: one run that writes a model, or a comparison of several policies.
#pragma once

#include <CLI/CLI.hpp>
#include <cli/train/train_options.hpp>
#include <cluster/job.hpp>
#include <families/device.hpp>

namespace precast::cli {

/// Trains under one policy, from the start or from a checkpoint, and writes model, checkpoints and log.
/// Throws UsageError and InputError for options and files that contradict each other.
void train_one(TrainOptions& options, CLI::App& command, const families::ChosenDevice& chosen,
               cluster::Communicator& job);

/// Trains under each policy of --compare from the same values on the same data, and prints one table.
void compare_training(const TrainOptions& options, const CLI::App& command,
                      const families::ChosenDevice& chosen, cluster::Communicator& job);

}  // namespace precast::cli
