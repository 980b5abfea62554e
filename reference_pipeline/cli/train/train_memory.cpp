#include <algorithm>
#include <cstdint>

#include <cli/train/train_memory.hpp>
#include <language_model/batches.hpp>
#include <language_model/parameters.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

/// Tokens per step and rank.
double tokens_of_step(const TrainOptions& options, const language_model::LanguageModelConfig& config,
                      int ranks) {
  return options.batches.empty()
             ? static_cast<double>(options.batch_size() * options.context_of(config))
             : static_cast<double>(language_model::tokens_of_batches(options.batches)) / ranks;
}

}  // namespace

void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config, int ranks,
                    const families::Backend& device) {
  const auto free_bytes = device.free_memory();
  const double tokens = tokens_of_step(options, config, ranks);
  double parameters = 0;
  for (const language_model::ParameterFacts& facts : parameters_of(config))
    parameters += static_cast<double>(facts.shape.elements());
  // Per parameter: its given value in f32, and in 16 bits its value, gradient and two moments. Per token:
  // logits and their gradient, and per layer ten states of the model's width for the backward pass.
  constexpr double bytes_of_parameter = 4 + 4 * 2, bytes_of_value = 2, kept_states = 10;
  const double of_token = bytes_of_value * (2.0 * static_cast<double>(config.vocabulary) +
                                            kept_states * static_cast<double>(config.layers * config.width));
  const double bytes = bytes_of_parameter * parameters + of_token * tokens;
  if (!free_bytes || bytes <= static_cast<double>(*free_bytes)) return;
  // Larger numbers are clamped: they do not fit either.
  const auto counted = [](double number) { return static_cast<std::int64_t>(std::min(number, 0x1p62)); };
  throw OutOfMemory("a model of " + io::with_commas(counted(parameters)) + " parameters, with " +
                    io::with_commas(counted(tokens)) + " tokens a step, takes at least " +
                    in_bytes(counted(bytes)) + "; " + in_bytes(*free_bytes) + " are free: try " +
                    (!options.batches.empty() ? "--batches of fewer tokens a step, or a smaller model"
                                              : "a smaller --width, --layers, --batch or --context"));
}

}  // namespace precast::cli
