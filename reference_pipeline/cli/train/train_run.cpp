#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <cli/train/train_run.hpp>
#include <language_model/shipped_text.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/suffix.hpp>

namespace precast::cli {

namespace {

using namespace language_model;

struct Text {
  std::string name, text;
};

Text text_of(const TrainOptions& options) {
  if (options.data.empty()) return {"the text that ships with precast", std::string(shipped_text())};
  const io::MappedFile file(options.data);
  if (file.text().empty()) throw io::file_error(options.data, "is empty: give a text to train on");
  return {io::shown(options.data), std::string(file.text())};
}

/// The text of --validation, or nothing where that is not given, or has tokens.
std::optional<Text> held_out_text_of(const TrainOptions& options) {
  if (options.validation.empty() || io::suffix_of(options.validation) == ".safetensors") return std::nullopt;
  return Text{io::shown(options.validation), std::string(io::MappedFile(options.validation).text())};
}

std::optional<Tokenizer> tokenizer_of(const std::filesystem::path& folder, std::int64_t vocabulary) {
  const std::filesystem::path file = folder / tokenizer_file;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return Tokenizer::from_json(io::MappedFile(file).text(), file);
  if (vocabulary != Tokenizer::of_bytes().size()) return std::nullopt;
  // As many tokens as there are bytes, but of a tokenizer that transformers wrote, are others.
  for (const char* other : {"tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json"})
    if (std::filesystem::exists(folder / other, ignored)) return std::nullopt;
  return Tokenizer::of_bytes();
}

/// Tokens of a window of a text. A model that was given may read fewer than the usual ones.
std::int64_t context_of_text(const TrainOptions& options, const LanguageModelConfig& config) {
  return options.context ? *options.context : std::min(options.context_length(), config.positions);
}

/// Tokens of a step of one rank.
double tokens_of_step(const TrainOptions& options, const LanguageModelConfig& config, int ranks) {
  return options.batches.empty()
             ? static_cast<double>(options.batch_size() * context_of_text(options, config))
             : static_cast<double>(tokens_of_batches(options.batches)) / ranks;
}

/// Refuses what cannot fit, before anything of its size is taken: what every policy needs at the least.
void require_memory(const TrainOptions& options, const LanguageModelConfig& config, int ranks,
                    const families::Backend& device) {
  const auto free_bytes = device.free_memory();
  const double tokens = tokens_of_step(options, config, ranks);
  double parameters = 0;
  for (const ParameterFacts& facts : parameters_of(config))
    parameters += static_cast<double>(facts.shape.elements());
  // Values as they are given, in f32, and in 16 bits a parameter, its gradient and two moments; of each token
  // logits and their gradient, and what a layer keeps for the backward pass: ten states of the model's width.
  constexpr double bytes_of_parameter = 4 + 4 * 2, bytes_of_value = 2, kept_states = 10;
  const double of_token = bytes_of_value * (2.0 * static_cast<double>(config.vocabulary) +
                                            kept_states * static_cast<double>(config.layers * config.width));
  const double bytes = bytes_of_parameter * parameters + of_token * tokens;
  if (!free_bytes || bytes <= static_cast<double>(*free_bytes)) return;
  // Beyond what 64 bits count, all is as hopeless.
  const auto counted = [](double number) { return static_cast<std::int64_t>(std::min(number, 0x1p62)); };
  throw OutOfMemory("a model of " + with_commas(counted(parameters)) + " parameters, with " +
                    with_commas(counted(tokens)) + " tokens a step, takes at least " +
                    in_bytes(counted(bytes)) + "; " + in_bytes(*free_bytes) + " are free: try " +
                    (!options.batches.empty() ? "--batches of fewer tokens a step, or a smaller model"
                                              : "a smaller --width, --layers, --batch or --context"));
}

/// What training leaves out of a model that was given, and of a run that goes on all but its tensors, which
/// the checkpoint has.
std::vector<std::string> warnings_of_model(const std::filesystem::path& folder,
                                           const LanguageModelConfig& config, bool goes_on) {
  std::vector<std::string> warnings;
  for (const std::string& key : config.left_out)
    warnings.push_back(io::shown(folder / "config.json") + ": key '" + key +
                       "' is above 0, and dropout is not trained with here: it is taken, and written, as 0");
  if (goes_on) return warnings;
  const std::vector<std::string> unread = unread_tensors(folder, config);
  if (!unread.empty()) warnings.push_back(weights::unread_note(folder, unread));
  return warnings;
}

/// A file of tokens may have others beside them, such as labels of which some are to be left out; none is
/// read.
void warn_of_unread(const std::filesystem::path& file) {
  std::vector<std::string> unread;
  const io::SafetensorsFile opened(file);
  for (const io::TensorEntry& entry : opened.tensors())
    if (entry.name != "tokens") unread.push_back(entry.name);
  if (!unread.empty()) tell_warnings({weights::unread_note(file, unread)});
}

/// The characters of both texts, of which a model knows what it is judged by, too.
Tokenizer tokenizer_of_characters(const Text& text, const std::optional<Text>& held_out) {
  if (!held_out) return Tokenizer::of_characters(text.text, text.name);
  Tokenizer::of_characters(held_out->text, held_out->name);  // says itself what is wrong with it
  return Tokenizer::of_characters(text.text + held_out->text, text.name);
}

/// A model that is not there yet, with values drawn from the seed. The texts have its characters, where these
/// are its tokens.
TrainInputs new_model(const TrainOptions& options, const std::optional<Text>& text,
                      const std::optional<Text>& held_out, int ranks, const families::Backend& device) {
  TrainInputs inputs;
  inputs.tokenizer =
      options.tokenizer == "bytes" ? Tokenizer::of_bytes() : tokenizer_of_characters(*text, held_out);
  inputs.config = options.new_model(inputs.tokenizer->size());
  require_memory(options, inputs.config, ranks, device);
  inputs.values = initial_values(parameters_of(inputs.config), options.seed);
  return inputs;
}

TrainInputs model_of_folder(const TrainOptions& options, const std::filesystem::path& folder,
                            const cluster::Communicator& job, const families::Backend& device) {
  TrainInputs inputs;
  inputs.config = LanguageModelConfig::load(folder / "config.json");
  require_memory(options, inputs.config, job.size(), device);
  inputs.tokenizer = tokenizer_of(folder, inputs.config.vocabulary);
  if (options.resume)  // the checkpoint has them
    for (const ParameterFacts& facts : parameters_of(inputs.config))
      inputs.values.emplace_back(static_cast<std::size_t>(facts.shape.elements()));
  else
    inputs.values = read_values(folder, inputs.config);
  if (job.rank() == 0) tell_warnings(warnings_of_model(folder, inputs.config, options.resume));
  return inputs;
}

/// Throws where a text cannot be made tokens of this model.
void require_tokenizer(const TrainOptions& options, const std::filesystem::path& folder,
                       const TrainInputs& inputs) {
  if (!inputs.tokenizer && options.resume)
    throw io::file_error(
        folder / tokenizer_file,
        "is not there, which says what the tokens are: put it back, or give the run's --batches");
  if (!inputs.tokenizer)
    throw UsageError("--model has no tokenizer that precast reads: give its tokens by --batches");
  if (inputs.tokenizer->size() > inputs.config.vocabulary)
    throw io::file_error(folder / tokenizer_file,
                         "has " + std::to_string(inputs.tokenizer->size()) + " tokens, and the model " +
                             std::to_string(inputs.config.vocabulary) +
                             ": they are not of one model; take the file away, or give its tokens by "
                             "--batches");
}

/// Throws where --batch or --context contradict the windows of --batches.
void require_batches_as_given(const TrainOptions& options, const TrainInputs& inputs) {
  // A checkpoint's --batch is that of as many ranks as there were, and compared where it is known.
  if (options.batches.empty() || options.resume) return;
  if (options.batch && *options.batch != inputs.batches->batch())
    throw UsageError("--batch is " + std::to_string(*options.batch) + ", and --batches has " +
                     std::to_string(inputs.batches->batch()) + " windows a step for each rank: leave it out");
  const bool is_most = options.model.empty();  // that a new model reads
  if (options.context && !is_most && *options.context != inputs.batches->context())
    throw UsageError("--context is " + std::to_string(*options.context) + ", and --batches has " +
                     std::to_string(inputs.batches->context()) + ": leave it out");
}

enum class Training { no, yes, is_being_left };
Training training = Training::no;
int signal_of_leaving = 0;

/// The signal that asks a rank of the job to stop, or 0: the same for all ranks, whichever of them it came
/// to. Where they have several it is the one that is last of these.
int signal_to_any(cluster::Communicator& job) {
  const int own = interrupting_signal();  // read once: one may come between the sums
  if (cluster::sum(job, own) == 0) return 0;
  int found = 0;
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    if (cluster::sum(job, own == signal) > 0) found = signal;
  return found;
}

/// That this process trains, as long as it lives.
struct WhileTraining {
  WhileTraining() { training = Training::yes; }
  ~WhileTraining() { training = Training::no; }
  WhileTraining(const WhileTraining&) = delete;
  WhileTraining& operator=(const WhileTraining&) = delete;
};

}  // namespace

bool is_told_to_end() {
  const int signal = interrupting_signal();
  if (training == Training::is_being_left) return signal != signal_of_leaving;
  // Who started the ranks says so to those that are left where one died, for which they would wait for ever.
  // From anybody else it is a wish, and the step comes to its end.
  return training == Training::yes ? signal == SIGTERM && is_interrupted_by_starter() : signal != 0;
}

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

TrainInputs open_inputs(const TrainOptions& options, const cluster::Communicator& job,
                        const families::Backend& device) {
  const std::filesystem::path folder = options.resume ? options.output : options.model;
  const bool is_new = folder.empty(), of_file = !options.batches.empty();
  std::optional<Text> text;
  if (!of_file || (is_new && options.tokenizer == "characters"))
    text = text_of(options);
  else if (!options.data.empty())
    throw UsageError(
        "--data and --batches are both given, and the model has its tokens: leave one of them out");
  const std::optional<Text> held_out = held_out_text_of(options);
  if (held_out && held_out->text.empty())
    throw io::file_error(options.validation, "is empty: give a text, or leave out --validation");
  TrainInputs inputs = is_new ? new_model(options, text, held_out, job.size(), device)
                              : model_of_folder(options, folder, job, device);
  if (of_file) {
    inputs.batches = batches_of_file(options.batches, options.training.steps, inputs.config.vocabulary);
  } else {
    require_tokenizer(options, folder, inputs);
    inputs.batches =
        random_windows(inputs.tokenizer->encode(text->text, text->name), options.batch_size() * job.size(),
                       context_of_text(options, inputs.config), options.seed, text->name);
  }
  if (inputs.batches->context() > inputs.config.positions)
    throw UsageError("the context is " + std::to_string(inputs.batches->context()) +
                     " tokens, and the model reads " + std::to_string(inputs.config.positions) +
                     (of_file ? ": give --batches of a smaller one, or a new model a larger --context"
                              : ": give a smaller --context"));
  inputs.batches = part_of_rank(std::move(inputs.batches), job.rank(), job.size(),
                                of_file ? io::shown(options.batches) : "--batch");
  require_batches_as_given(options, inputs);
  if (held_out) {
    require_tokenizer(options, folder, inputs);
    inputs.held_out = language_model::held_out_text(inputs.tokenizer->encode(held_out->text, held_out->name),
                                                    inputs.batches->context(), held_out->name);
  } else if (!options.validation.empty()) {
    inputs.held_out = held_out_file(options.validation, inputs.config.vocabulary);
    if (inputs.held_out->context > inputs.config.positions)
      throw UsageError("--validation has windows of " + std::to_string(inputs.held_out->context) +
                       " tokens, and the model reads " + std::to_string(inputs.config.positions) +
                       ": give it smaller ones");
  }
  if (job.rank() == 0 && of_file) warn_of_unread(options.batches);
  if (job.rank() == 0 && inputs.held_out && !held_out) warn_of_unread(options.validation);
  inputs.validate_every = options.validate_every.value_or(static_cast<int>(inputs.validate_every));
  return inputs;
}

std::int64_t TrainedRun::skipped() const { return std::ranges::count_if(steps, &StepFacts::skipped); }

std::int64_t TrainedRun::non_finite() const {
  std::int64_t values = 0;
  for (const StepFacts& step : steps) values += step.non_finite;
  return values;
}

std::optional<double> TrainedRun::validation_loss() const {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->validation_loss) return step->validation_loss;
  return std::nullopt;
}

std::optional<std::int64_t> TrainedRun::failed_at() const {
  for (const StepFacts& step : steps)
    if (!std::isfinite(step.loss)) return step.step;
  return std::nullopt;
}

double TrainedRun::final_loss() const {
  const std::size_t last = std::max<std::size_t>(1, steps.size() / 10);
  double sum = 0;
  for (std::size_t i = steps.size() - last; i < steps.size(); ++i) sum += steps[i].loss;
  return sum / static_cast<double>(last);
}

TrainedRun train_to_the_end(Trainer& trainer, cluster::Communicator& job, const TrainInputs& inputs,
                            const std::string& policy, std::int64_t steps, bool wants_gradients,
                            const std::function<std::string()>& leave_behind,
                            const std::function<void(const StepFacts&)>& after_step) {
  TrainedRun run{policy, {}, {}};
  ProgressReporter progress;
  const auto count_last_gradients = [&] {
    if (wants_gradients && trainer.next_step() + 1 == steps) run.gradients = trainer.model().histogram();
  };
  const WhileTraining trains;
  while (!trainer.done()) {
    if (const int signal = signal_to_any(job)) {
      signal_of_leaving = interrupting_signal();
      training = Training::is_being_left;  // what rank 0 writes may take it a while
      const std::string left = leave_behind();
      cluster::sum(job, 0);  // a rank that ends ends them all: rank 0 has written by then
      throw Interrupted("interrupted: " + left, signal);
    }
    run.steps.push_back(trainer.step(*inputs.batches, count_last_gradients));
    // Comes to its end after a signal, too: no run that goes on would make up for it.
    if (inputs.held_out && (trainer.next_step() % inputs.validate_every == 0 || trainer.done()))
      run.steps.back().validation_loss = trainer.loss_of(*inputs.held_out, inputs.batches->batch());
    after_step(run.steps.back());
    progress.update("training " + policy, trainer.next_step(), steps,
                    "loss " + four_digits(run.steps.back().loss));
  }
  progress.wipe();
  return run;
}

void end_together(cluster::Communicator& job) {
  if (job.rank() == 0 && is_interrupted_by_starter()) return;  // all is written, and nobody may come
  const WhileTraining trains;
  cluster::sum(job, 0);
}

}  // namespace precast::cli
