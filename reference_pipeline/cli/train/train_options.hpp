// The options of precast train.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>

namespace precast::cli {

struct TrainOptions {
  std::string data, batches, validation, model, log, report;
  std::string output = "trained";
  std::string compare;
  language_model::TrainingOptions training{};
  std::uint64_t seed = 0;
  std::optional<int> batch, context, checkpoint_every, validate_every, sample, threads;
  std::size_t bucket_bytes = cluster::ExchangeOptions{}.bucket_bytes;
  std::optional<cluster::SumDtype> all_reduce;  ///< none: the dtype of the policy's gradients
  std::optional<int> layers, width, heads, heads_kv;
  std::string architecture = "gpt2", tokenizer = "characters", device = "auto";
  bool resume = false, overwrite = false, json = false;

  std::int64_t batch_size() const { return batch.value_or(16); }
  int checkpoint_interval() const { return checkpoint_every.value_or(50); }
  std::int64_t context_length() const { return context.value_or(64); }
  /// Tokens of a window of a text. A model that was given may read fewer than the usual ones.
  std::int64_t context_of(const language_model::LanguageModelConfig& config) const {
    return context ? *context : std::min(context_length(), config.positions);
  }
  /// A new model's sizes, for a vocabulary. Throws UsageError where they do not fit each other.
  language_model::LanguageModelConfig new_model(std::int64_t vocabulary) const;
};

void add_train_options(CLI::App& command, TrainOptions& options);

/// Options of loss scaling, and of how ranks sum gradients, that a command has. What a checkpoint adds to it
/// is asked for after this.
struct GivenOptions {
  std::vector<std::string> of_scaling, of_ranks;
  explicit GivenOptions(const CLI::App& command);
};
/// Says which of them change nothing: where none of the policies scales the loss, or there is one rank.
void tell_unused(const GivenOptions& given, std::span<const std::string> policies, int ranks);

/// Where all options are known, a checkpoint's too: without --steps, batches of a file are trained on to
/// their end. Throws UsageError and InputError for what is out of range, and for a file without batches.
void settle_training(TrainOptions& options, const CLI::App& command);

}  // namespace precast::cli
