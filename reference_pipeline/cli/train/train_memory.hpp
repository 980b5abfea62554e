// A lower bound on the memory of a training run, checked before allocations.
#pragma once

#include <cli/train/train_options.hpp>
#include <families/backend.hpp>
#include <language_model/config.hpp>

namespace precast::cli {

/// Throws OutOfMemory if one of `ranks` ranks cannot fit the model and its steps on the device under any
/// policy.
void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config, int ranks,
                    const families::Backend& device);

}  // namespace precast::cli
