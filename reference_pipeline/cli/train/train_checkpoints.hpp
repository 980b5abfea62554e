// The checkpoints of a training run, and the config and tokenizer written with the first of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cli/train/train_inputs.hpp>
#include <language_model/trainer.hpp>

namespace precast::cli {

/// The outputs of a run besides its log: checkpoints, and with the first one the config and tokenizer, so
/// that a run that fails earlier leaves an existing model in --output unchanged. Only one rank writes.
class Checkpoints {
 public:
  /// To be constructed before the first step. `settings`: the options stored in checkpoints. Trainer and
  /// inputs must outlive this. Throws InputError if the tokenizer beside the model cannot be read.
  Checkpoints(const language_model::Trainer& trainer, const TrainInputs& inputs, std::string settings,
              const TrainOptions& options, bool writes);

  /// Writes a checkpoint if one is due: at its interval, and after the last step.
  void after_step();
  /// For an interrupted run: writes a checkpoint if a step was taken, and returns how to resume.
  std::string save_on_interrupt();

 private:
  void write();
  void write_now();
  void remove_other_model() const;

  const language_model::Trainer& trainer_;
  const TrainInputs& inputs_;
  std::string settings_;
  std::filesystem::path folder_;
  std::int64_t every_, first_step_, kept_step_;
  bool writes_, is_described_, overwrites_;
  /// The files next to the initial model, as name and content.
  std::optional<std::vector<std::pair<std::string, std::string>>> tokenizer_files_;
};

}  // namespace precast::cli
