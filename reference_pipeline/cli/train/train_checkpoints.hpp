// The checkpoints of a training run, and what it writes with the first of them.
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

/// What a run writes beside its log: checkpoints, and with the first of them what describes the model, so
/// that a run that fails sooner leaves a model of --output as it was. One rank writes.
class Checkpoints {
 public:
  /// Before the first step. `settings` is what a checkpoint keeps of the options. Trainer and inputs must
  /// outlive this. Throws InputError where the tokenizer beside the model cannot be read.
  Checkpoints(const language_model::Trainer& trainer, const TrainInputs& inputs, std::string settings,
              const TrainOptions& options, bool writes);

  /// Writes one where it is time: every so many steps, and after the last.
  void after_step();
  /// For a run that ends before its end: what it says that is there.
  std::string leave_behind();

 private:
  void write();
  void write_now();
  void remove_other_model() const;

  const language_model::Trainer& trainer_;
  const TrainInputs& inputs_;
  std::string settings_;
  std::filesystem::path folder_;
  std::int64_t every_, first_step_, kept_step_;
  bool writes_, is_described_, writes_over_;
  /// The model's tokenizer, by names of files.
  std::optional<std::vector<std::pair<std::string, std::string>>> beside_;
};

}  // namespace precast::cli
