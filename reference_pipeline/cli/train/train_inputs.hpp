// The inputs of precast train: a model and its data, opened.
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

/// The name of the tokenizer's file in a model's folder.
inline constexpr const char* tokenizer_file = "precast_tokenizer.json";

/// A model's config and initial values, its tokenizer, and its training batches.
struct TrainInputs {
  language_model::LanguageModelConfig config;
  language_model::ParameterValues values;
  std::optional<language_model::Tokenizer> tokenizer;  ///< none if the folder's is of another kind
  std::unique_ptr<language_model::Batches> batches;
  std::optional<language_model::HeldOut> held_out;  ///< --validation
  std::int64_t validate_every = 50;
};

/// Throws UsageError if the log or the page would overwrite an input of
/// training.
void check_inputs_of_training(const TrainOptions& options);

/// Reads the inputs that the options name, and this rank's part of the batches. Throws InputError,
/// UsageError, and DoesNotFit if the run, parallel as given, needs more memory than is free on the device.
/// All ranks call it.
TrainInputs open_inputs(const TrainOptions& options, cluster::Communicator& job,
                        const language_model::TrainingDevice& device,
                        const language_model::DataParallel& parallel);

}  // namespace precast::cli
