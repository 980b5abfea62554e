// What a training run needs at the least, before anything of its size is taken.
#pragma once

#include <cli/train/train_options.hpp>
#include <families/backend.hpp>
#include <language_model/config.hpp>

namespace precast::cli {

/// Throws OutOfMemory for a model and steps that cannot fit on the device, whatever the policy: those of one
/// of so many ranks.
void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config, int ranks,
                    const families::Backend& device);

}  // namespace precast::cli
