// One run of precast train, from its first step to its last, and its results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cli/train/train_inputs.hpp>
#include <language_model/trainer.hpp>

namespace precast::cli {

/// How a trainer shares its steps with the other ranks.
inline language_model::DataParallel data_parallel(const TrainOptions& options, cluster::Communicator& job) {
  return {.job = &job, .bucket_bytes = options.bucket_bytes, .message = options.all_reduce};
}

/// The results of a run.
struct TrainedRun {
  std::string policy;
  std::vector<language_model::StepFacts> steps;
  /// Gradients of the last step, unscaled and not clipped, if asked for: f16 flushes some to 0 before they
  /// would be clipped.
  language_model::GradientHistogram gradients;
  /// The last validation loss that was computed.
  std::optional<double> validation_loss() const;
  std::int64_t skipped() const;
  /// The number of inf and NaN values in gradients, over all steps.
  std::int64_t non_finite() const;
  /// The first step whose loss is not finite, or nothing.
  std::optional<std::int64_t> failed_at() const;
  /// The mean loss over the last tenth of the steps, which is smoother than the last loss.
  double final_loss() const;
};

/// Callbacks and options of a run.
struct RunHooks {
  /// Called on all ranks if one is interrupted: may write, and returns a message on what was left.
  std::function<std::string()> save_on_interrupt;
  /// May throw to end the run.
  std::function<void(const language_model::StepFacts&)> after_step;
  /// Whether to keep a histogram of the last step's gradients.
  bool takes_last_gradients = false;
};

/// Trains to the last step, with progress, and computes validation losses. After Ctrl-C on any rank throws
/// Interrupted with the message of `save_on_interrupt`.
TrainedRun train_to_the_end(language_model::Trainer& trainer, cluster::Communicator& job,
                            const TrainInputs& inputs, const RunHooks& hooks);

}  // namespace precast::cli
