// The memory of a training run, checked before any large allocation.
#pragma once

#include <cli/train/train_options.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

namespace precast::cli {

/// Throws DoesNotFit if the model and its steps on one of `ranks` ranks, which share the windows of
/// --batches, do not fit on the device.
void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config, int ranks,
                    const language_model::TrainingDevice& device,
                    const language_model::DataParallel& parallel);

}  // namespace precast::cli
