// What a training run needs, before anything of its size is taken.
#pragma once

#include <cli/train/train_options.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

namespace precast::cli {

/// Throws DoesNotFit where the model and its steps, of one of so many ranks that share those of a file, do
/// not fit on the device.
void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config, int ranks,
                    const language_model::TrainingDevice& device,
                    const language_model::DataParallel& parallel);

}  // namespace precast::cli
