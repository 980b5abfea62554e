// The memory of a training run, checked before any large allocation.
#pragma once

#include <cli/train/train_options.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

#include <precast/cluster/communicator.hpp>

namespace precast::cli {

/// Throws DoesNotFit if the model and its steps do not fit on the device or, on the CPU, into this rank's
/// share of its machine's memory. The ranks share the windows of --batches. All ranks call it.
void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config,
                    cluster::Communicator& job, const language_model::TrainingDevice& device,
                    const language_model::DataParallel& parallel);

}  // namespace precast::cli
