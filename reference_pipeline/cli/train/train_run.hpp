// One run of precast train, from its first step to its last, and how it went.
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

/// How a run went.
struct TrainedRun {
  std::string policy;
  std::vector<language_model::StepFacts> steps;
  /// Of the last step, unscaled and not clipped, where they are wanted: f16 makes 0 of some before they are
  /// clipped.
  language_model::GradientHistogram gradients;
  /// The last that was told.
  std::optional<double> validation_loss() const;
  std::int64_t skipped() const;
  /// Values of gradients that were inf or NaN, of all steps together.
  std::int64_t non_finite() const;
  /// The first step whose loss is not finite, or nothing.
  std::optional<std::int64_t> failed_at() const;
  /// The mean loss of the last tenth of the steps, which is smoother than the last one's.
  double final_loss() const;
};

/// What a run does besides its steps.
struct RunHooks {
  /// On all ranks, where one is interrupted: may write, and says what is left.
  std::function<std::string()> leave_behind;
  /// May throw to stop.
  std::function<void(const language_model::StepFacts&)> after_step;
  /// Whether it takes the histogram of the last step's gradients.
  bool takes_last_gradients = false;
};

/// Trains to the end, telling progress, and takes the loss of what is held out. After Ctrl-C on any rank
/// Interrupted is thrown with what `leave_behind` says.
TrainedRun train_to_the_end(language_model::Trainer& trainer, cluster::Communicator& job,
                            const TrainInputs& inputs, const RunHooks& hooks);

}  // namespace precast::cli
