// The summary of one run of precast train.
#pragma once

#include <string>

#include <cli/train/train_run.hpp>

namespace precast::cli {

/// A text drawn from the run's model for --sample; "" if not asked for, or if the model has no tokenizer.
/// After Ctrl-C the text drawn so far.
std::string sampled_text(language_model::Trainer& trainer, const TrainInputs& inputs,
                         const TrainOptions& options);

/// Prints a run's results and a sample; as JSON with --json.
void show(const TrainedRun& run, const std::string& sample, const TrainOptions& options);

}  // namespace precast::cli
