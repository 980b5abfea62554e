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

  /// The policies to train under: those of --compare, or else the one of --policy. Throws UsageError.
  std::vector<std::string> policies() const;
  std::int64_t batch_size() const { return batch.value_or(16); }
  int checkpoint_interval() const { return checkpoint_every.value_or(50); }
  std::int64_t context_length() const { return context.value_or(64); }
  /// The window of a text in tokens: --context, else the default, or a given model's context if smaller.
  std::int64_t context_of(const language_model::LanguageModelConfig& config) const {
    return context ? *context : std::min(context_length(), config.positions);
  }
  /// The config of a new model with a vocabulary of this size. Throws UsageError if sizes do not fit.
  language_model::LanguageModelConfig new_model(std::int64_t vocabulary) const;
};

void add_train_options(CLI::App& command, TrainOptions& options);

/// The options given for loss scaling and for the sums of gradients over ranks. Recorded before a
/// checkpoint's settings are added.
struct GivenOptions {
  std::vector<std::string> of_scaling, of_ranks;
  explicit GivenOptions(const CLI::App& command);
};
/// Warns of those without effect: no policy scales the loss, or there is only one rank.
void warn_of_unused_options(const GivenOptions& given, std::span<const std::string> policies, int ranks);

/// Called once all options are known, a checkpoint's included: without --steps, uses all batches of a file.
/// Throws UsageError and InputError for values out of range, and for a file without batches.
void resolve_training(TrainOptions& options, const CLI::App& command);

}  // namespace precast::cli
