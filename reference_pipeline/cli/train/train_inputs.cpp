#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/running/run_report.hpp>
#include <cli/train/train_folder.hpp>
#include <cli/train/train_inputs.hpp>
#include <cli/train/train_memory.hpp>
#include <cli/train/train_tokenizer_files.hpp>
#include <language_model/shipped_text.hpp>
#include <language_model/trainer.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/find_weights.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/io/suffix.hpp>

namespace precast::cli {

namespace {

using language_model::HeldOut;
using language_model::LanguageModelConfig;
using language_model::ParameterFacts;
using language_model::Tokenizer;

struct Text {
  std::string name, text;
};

Text text_of_data(const TrainOptions& options) {
  if (options.data.empty())
    return {"the text that ships with precast", std::string(language_model::shipped_text())};
  const io::MappedFile file(options.data);
  if (file.text().empty()) throw io::file_error(options.data, "is empty: give a text to train on");
  return {io::shown(options.data), std::string(file.text())};
}

/// The text of --validation; nothing if it is not given, or is a file of tokens.
std::optional<Text> text_of_validation(const TrainOptions& options) {
  if (options.validation.empty() || io::suffix_of(options.validation) == ".safetensors") return std::nullopt;
  Text text{io::shown(options.validation), std::string(io::MappedFile(options.validation).text())};
  if (text.text.empty())
    throw io::file_error(options.validation, "is empty: give a text, or leave out --validation");
  return text;
}

/// Texts that are still to be tokenized.
struct Texts {
  std::optional<Text> data, validation;
};

/// A new model with a tokenizer of characters gets it from --data, even if it is trained on --batches.
Texts texts_of(const TrainOptions& options, bool is_new) {
  Texts texts;
  if (options.batches.empty() || (is_new && options.tokenizer == "characters"))
    texts.data = text_of_data(options);
  else if (!options.data.empty())
    throw UsageError(
        "--data and --batches are both given, and each is what the model would be trained on: leave one of "
        "them out");
  texts.validation = text_of_validation(options);
  return texts;
}

std::optional<Tokenizer> tokenizer_of(const std::filesystem::path& folder, std::int64_t vocabulary) {
  const std::filesystem::path file = folder / tokenizer_file;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return Tokenizer::from_json(io::MappedFile(file).text(), file);
  if (vocabulary != Tokenizer::of_bytes().size()) return std::nullopt;
  // transformers' tokenizer may happen to have as many tokens as there are bytes.
  if (!tokenizer_files_in(folder).empty()) return std::nullopt;
  return Tokenizer::of_bytes();
}

/// Warnings of tensors and settings of the given model that training ignores; for a checkpoint, whose
/// tensors are all read, only of settings.
std::vector<std::string> warnings_of_model(const std::filesystem::path& folder,
                                           const LanguageModelConfig& config, bool of_checkpoint) {
  std::vector<std::string> warnings;
  for (const std::string& key : config.left_out)
    warnings.push_back(io::shown(folder / "config.json") + ": key '" + key +
                       "' is above 0, and dropout is not trained with here: it is taken, and written, as 0");
  if (of_checkpoint) return warnings;
  const std::vector<std::string> unread = unread_tensors(folder, config);
  if (!unread.empty()) warnings.push_back(weights::unread_note(folder, unread));
  return warnings;
}

/// The tokenizer with the characters of both texts, so that the model knows those of the validation text.
Tokenizer tokenizer_of_characters(const Text& data, const std::optional<Text>& validation) {
  if (!validation) return Tokenizer::of_characters(data.text, data.name);
  Tokenizer::of_characters(validation->text, validation->name);  // throws an error that names this text
  return Tokenizer::of_characters(data.text + validation->text, data.name);
}

/// A new model with values drawn from the seed. A tokenizer of characters is built from
/// `texts`.
TrainInputs new_model(const TrainOptions& options, const Texts& texts, cluster::Communicator& job,
                      const language_model::TrainingDevice& device,
                      const language_model::DataParallel& parallel) {
  TrainInputs inputs;
  inputs.tokenizer = options.tokenizer == "bytes" ? Tokenizer::of_bytes()
                                                  : tokenizer_of_characters(*texts.data, texts.validation);
  inputs.config = options.new_model(inputs.tokenizer->size());
  require_memory(options, inputs.config, job, device, parallel);
  inputs.values = initial_values(parameters_of(inputs.config), options.seed);
  return inputs;
}

/// Whether a folder has no model yet, but a checkpoint of an unfinished run.
bool has_checkpoint_alone(const std::filesystem::path& folder) {
  return io::is_there(folder / checkpoint_file) && !io::find_weights(folder);
}

TrainInputs model_of_folder(const TrainOptions& options, const std::filesystem::path& folder,
                            cluster::Communicator& job, const language_model::TrainingDevice& device,
                            const language_model::DataParallel& parallel) {
  TrainInputs inputs;
  inputs.config = LanguageModelConfig::load(folder / "config.json");
  require_memory(options, inputs.config, job, device, parallel);
  inputs.tokenizer = tokenizer_of(folder, inputs.config.vocabulary);
  const bool of_checkpoint = options.resume || has_checkpoint_alone(folder);
  if (options.resume)  // overwritten by the checkpoint's values
    for (const ParameterFacts& facts : parameters_of(inputs.config))
      inputs.values.emplace_back(static_cast<std::size_t>(facts.shape.elements()));
  else if (of_checkpoint)
    inputs.values = values_of_checkpoint(folder / checkpoint_file, inputs.config);
  else
    inputs.values = read_values(folder, inputs.config);
  if (job.rank() == 0) print_warnings(warnings_of_model(folder, inputs.config, of_checkpoint));
  return inputs;
}

/// Throws if the model has no tokenizer, or one with more tokens than its vocabulary.
void require_tokenizer(const TrainOptions& options, const std::filesystem::path& folder,
                       const TrainInputs& inputs) {
  if (!inputs.tokenizer && options.resume)
    throw io::file_error(
        folder / tokenizer_file,
        "is missing, which says what the tokens are: put it back, or give the run's --batches");
  if (!inputs.tokenizer)
    throw UsageError("--model has no tokenizer that precast reads: give its tokens by --batches");
  if (inputs.tokenizer->size() > inputs.config.vocabulary)
    throw io::file_error(
        folder / tokenizer_file,
        "has " + std::to_string(inputs.tokenizer->size()) + " tokens, and the model " +
            std::to_string(inputs.config.vocabulary) +
            ": they belong to different models; remove the file, or give its tokens by --batches");
}

/// The training batches of all ranks together.
std::unique_ptr<language_model::Batches> batches_of(const TrainOptions& options, const TrainInputs& inputs,
                                                    const std::optional<Text>& data,
                                                    const std::filesystem::path& folder, int ranks) {
  if (!options.batches.empty())
    return language_model::batches_of_file(options.batches, options.training.steps, inputs.config.vocabulary);
  require_tokenizer(options, folder, inputs);
  return language_model::random_windows(inputs.tokenizer->encode(data->text, data->name),
                                        options.batch_size() * ranks, options.context_of(inputs.config),
                                        options.seed, data->name);
}

/// Throws if the windows are longer than the model's context.
void require_context(const TrainOptions& options, const TrainInputs& inputs) {
  if (inputs.batches->context() <= inputs.config.positions) return;
  throw UsageError("the context is " + std::to_string(inputs.batches->context()) +
                   " tokens, and the model reads " + std::to_string(inputs.config.positions) +
                   (!options.batches.empty()
                        ? ": give --batches of a smaller one, or a new model a larger --context"
                        : ": give a smaller --context"));
}

/// Throws if --batch or --context contradicts the windows of --batches.
void require_batches_as_given(const TrainOptions& options, const TrainInputs& inputs) {
  // A checkpoint's --batch is for its own number of ranks, and is compared elsewhere.
  if (options.batches.empty() || options.resume) return;
  if (options.batch && *options.batch != inputs.batches->batch())
    throw UsageError("--batch is " + std::to_string(*options.batch) + ", and --batches has " +
                     std::to_string(inputs.batches->batch()) + " windows a step for each rank: leave it out");
  const bool is_most = options.model.empty();  // --context is then a maximum
  if (options.context && !is_most && *options.context != inputs.batches->context())
    throw UsageError("--context is " + std::to_string(*options.context) + ", and --batches has " +
                     std::to_string(inputs.batches->context()) + ": leave it out");
}

/// The held-out data of --validation, or nothing.
std::optional<HeldOut> held_out_of(const TrainOptions& options, const TrainInputs& inputs,
                                   const std::optional<Text>& text, const std::filesystem::path& folder) {
  if (options.validation.empty()) return std::nullopt;
  if (text) {
    require_tokenizer(options, folder, inputs);
    return language_model::held_out_text(inputs.tokenizer->encode(text->text, text->name),
                                         inputs.batches->context(), text->name);
  }
  HeldOut held_out = language_model::held_out_file(options.validation, inputs.config.vocabulary);
  if (held_out.context > inputs.config.positions)
    throw UsageError("--validation has windows of " + std::to_string(held_out.context) +
                     " tokens, and the model reads " + std::to_string(inputs.config.positions) +
                     ": give it smaller ones");
  return held_out;
}

/// Warns that only `tokens` is read of a file of tokens: other tensors, such as labels that mask some of
/// them, have no effect.
void warn_of_unread(const std::filesystem::path& file) {
  std::vector<std::string> unread;
  const io::SafetensorsFile opened(file);
  for (const io::TensorEntry& entry : opened.tensors())
    if (entry.name != "tokens") unread.push_back(entry.name);
  if (!unread.empty()) print_warnings({weights::unread_note(file, unread)});
}

}  // namespace

void check_inputs_of_training(const TrainOptions& options) {
  for (const auto& [name, file] : {std::pair("--data", &options.data),
                                   {"--batches", &options.batches},
                                   {"--validation", &options.validation}})
    if (*file == "-")
      throw UsageError(
          std::string(name) +
          " is '-', and standard input is not read: save what it brings to a file, and name that");
  std::vector<std::filesystem::path> inputs{options.data, options.batches, options.validation};
  std::error_code none;
  for (std::filesystem::directory_iterator at(options.model, none), end; !none && at != end;
       at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (name == "config.json" || name == tokenizer_file || name.find(".safetensors") != name.npos)
      inputs.push_back(at->path());
  }
  check_inputs_stay(std::array<std::filesystem::path, 2>{options.log, options.report}, inputs);
}

TrainInputs open_inputs(const TrainOptions& options, cluster::Communicator& job,
                        const language_model::TrainingDevice& device,
                        const language_model::DataParallel& parallel) {
  const std::filesystem::path folder = options.resume ? options.output : options.model;
  const bool is_new = folder.empty(), of_file = !options.batches.empty();
  const Texts texts = texts_of(options, is_new);
  TrainInputs inputs = is_new ? new_model(options, texts, job, device, parallel)
                              : model_of_folder(options, folder, job, device, parallel);
  inputs.batches = batches_of(options, inputs, texts.data, folder, job.size());
  require_context(options, inputs);
  inputs.batches = part_of_rank(std::move(inputs.batches), job.rank(), job.size(),
                                of_file ? io::shown(options.batches) : "--batch");
  require_batches_as_given(options, inputs);
  inputs.held_out = held_out_of(options, inputs, texts.validation, folder);
  if (options.validate_every) inputs.validate_every = *options.validate_every;
  if (job.rank() == 0 && of_file) warn_of_unread(options.batches);
  if (job.rank() == 0 && inputs.held_out && !texts.validation) warn_of_unread(options.validation);
  return inputs;
}

}  // namespace precast::cli
