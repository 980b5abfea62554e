// What precast train trains: a model and its data, opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <cli/train/train_options.hpp>
#include <language_model/batches.hpp>
#include <language_model/config.hpp>
#include <language_model/parameters.hpp>
#include <language_model/tokenizer.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

#include <precast/cluster/communicator.hpp>

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
/// DoesNotFit where a trainer of the run, which shares its steps so, needs more than is free on the device.
TrainInputs open_inputs(const TrainOptions& options, const cluster::Communicator& job,
                        const language_model::TrainingDevice& device,
                        const language_model::DataParallel& parallel);

}  // namespace precast::cli
