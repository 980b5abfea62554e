// What precast train trains: a model and its data, opened; and one run of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cli/train/train_options.hpp>
#include <families/backend.hpp>
#include <language_model/batches.hpp>
#include <language_model/tokenizer.hpp>
#include <language_model/trainer.hpp>

namespace precast::cli {

/// What a model's folder calls its tokenizer.
inline constexpr const char* tokenizer_file = "precast_tokenizer.json";

/// A model's sizes and first values, its tokenizer, and the data's order.
struct TrainInputs {
  language_model::LanguageModelConfig config;
  language_model::ParameterValues values;
  std::optional<language_model::Tokenizer> tokenizer;  ///< none of a folder with a tokenizer of another kind
  std::unique_ptr<language_model::Batches> batches;
  std::optional<language_model::HeldOut> held_out;  ///< of --validation
  std::int64_t validate_every = 50;
};

/// The log and the page take the places of files that are there: throws UsageError where one of them is what
/// is trained on.
void check_inputs_of_training(const TrainOptions& options);

/// Reads what the options name; of the data's order the part of this rank. Throws InputError, UsageError, and
/// OutOfMemory where the run needs more than is free on the device.
TrainInputs open_inputs(const TrainOptions& options, const cluster::Communicator& job,
                        const families::Backend& device);

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

/// Whether a signal says that the job is being ended, so that who waits for another rank waits in vain. While
/// ranks train, Ctrl-C is none: all of them are to stop after a step. Once they agreed to, none is that came
/// before.
bool is_told_to_end();

/// Trains to the end, telling progress, and takes the loss of what is held out, and the histogram of the last
/// step's gradients where that is wanted; `after_step` is called after each step and may throw to stop. After
/// Ctrl-C on any rank `leave_behind` is called on all, which may write, and Interrupted thrown with what it
/// says.
TrainedRun train_to_the_end(language_model::Trainer& trainer, cluster::Communicator& job,
                            const TrainInputs& inputs, const std::string& policy, std::int64_t steps,
                            bool wants_gradients, const std::function<std::string()>& leave_behind,
                            const std::function<void(const language_model::StepFacts&)>& after_step);

/// Returns when all ranks are here: rank 0, which writes, last. One that died on the way there is told of as
/// one that died in a step.
void end_together(cluster::Communicator& job);

}  // namespace precast::cli
