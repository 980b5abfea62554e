// What one run of precast train says at its end.
#pragma once

#include <string>

#include <cli/train/train_run.hpp>

namespace precast::cli {

/// A text by the run's model, as --sample asks for it: "" where it asks for none, or no tokenizer knows what
/// the tokens are. After Ctrl-C what was drawn by then.
std::string sampled_text(language_model::Trainer& trainer, const TrainInputs& inputs,
                         const TrainOptions& options);

/// Prints what a run came to, and a text by its model: as JSON with --json.
void show(const TrainedRun& run, const std::string& sample, const TrainOptions& options);

}  // namespace precast::cli
