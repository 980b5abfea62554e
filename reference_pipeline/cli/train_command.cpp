// precast train: a language model on a text, under a policy.
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/device_of_rank.hpp>
#include <cli/format.hpp>
#include <cli/given_files.hpp>
#include <cli/interrupt.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/run_options.hpp>
#include <cli/run_report.hpp>
#include <cli/train_folder.hpp>
#include <cli/train_log.hpp>
#include <cli/train_options.hpp>
#include <cli/train_report.hpp>
#include <cli/train_run.hpp>
#include <cli/train_scaling.hpp>
#include <cli/train_settings.hpp>
#include <cli/training_policies.hpp>
#include <cluster/job.hpp>
#include <cluster/measure_link.hpp>
#include <families/device.hpp>
#include <language_model/sample_text.hpp>
#include <language_model/training_device.hpp>

#include <precast/host/parallel.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>
#include <precast/memory/memory.hpp>

namespace precast::cli {

namespace {

using namespace language_model;

std::string sampled(Trainer& trainer, const TrainInputs& inputs, const TrainOptions& options) {
  const std::int64_t count = options.sample.value_or(200);
  if (count == 0 || !inputs.tokenizer) return "";
  const std::vector<std::int32_t> window = inputs.batches->step(0);
  const auto start = std::span(window).first(static_cast<std::size_t>(inputs.batches->context()));
  constexpr double temperature = 0.8;
  const std::vector<std::int32_t> tokens =
      sample_tokens(trainer.model(), {start.begin(), start.end()}, count, inputs.batches->context(),
                    temperature, options.seed);
  return inputs.tokenizer->decode(tokens);
}

/// A sample as a terminal may show it: a model of bytes draws control characters, too, which would turn the
/// colours or the character set of all that follows.
std::string harmless(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const bool ends_line = text.substr(at).starts_with('\n') || text.substr(at).starts_with("\r\n");
    const std::size_t control = ends_line || text[at] == '\t' ? 0 : io::control_at(text, at);
    shown += control ? '?' : text[at];
    at += control ? control : 1;
  }
  return shown;
}

/// A line of the log. Where it cannot be written the run leaves behind what Ctrl-C would, which says what,
/// and ends by the log's InputError.
void write_or_leave(TrainLog& log, const StepFacts& step, const std::string& policy,
                    const std::function<std::string()>& leave_behind) {
  try {
    log.write(step, policy);
  } catch (const InputError& failed) {
    std::string left;
    try {
      left = "; " + leave_behind();
    } catch (const InputError&) {
      // The disk may be the same: what was kept before stays, and the log's error says why the run ends.
    }
    throw InputError(failed.what() + left);
  }
}

/// Options of loss scaling that a command has. What a checkpoint adds to it is asked for after this.
std::vector<std::string> scaling_options_given(const CLI::App& command) {
  std::vector<std::string> given;
  for (const char* name : {"--init-scale", "--growth-factor", "--backoff-factor", "--growth-interval"})
    if (command.get_option(name)->count() > 0) given.emplace_back(name);
  return given;
}

/// Says that options of loss scaling change nothing, where none of the policies scales the loss.
void tell_unused_scaling(std::vector<std::string> given, std::span<const std::string> policies) {
  const auto scales = [](const std::string& name) { return training_policy(name).scales_loss; };
  if (std::ranges::any_of(policies, scales)) return;
  for (std::string& option : given)
    option += " does nothing: the loss is not scaled under " +
              (policies.size() == 1 ? policies.front() : "any of these policies");
  tell_warnings(given);
}

/// Data in an order of their own are trained on to their end. Throws InputError where the file has no
/// batches.
void take_steps_of_batches(TrainOptions& options, const CLI::App& command) {
  if (!options.batches.empty() && command.get_option("--steps")->count() == 0)
    options.training.steps = steps_of_batches(options.batches);
}

/// Throws UsageError and InputError for what is out of range, where the checkpoint's options are known.
void check_training(const TrainingOptions& training) {
  if (training.warmup > training.steps)
    throw UsageError("--warmup is " + std::to_string(training.warmup) + ", and --steps " +
                     std::to_string(training.steps) + ": give a warm-up that ends with the run or before");
  training.check();
}

DataParallel shared(const TrainOptions& options, cluster::Communicator& job) {
  return {.job = &job, .bucket_bytes = options.bucket_bytes, .message = options.all_reduce};
}

/// The model of a run that ended, or was ended, before it was written: after its last checkpoint.
void write_trained(const Trainer& trainer, const TrainOptions& options) {
  trainer.write_model(options.output);
  if (options.json)
    return print(Json{
        {"policy", options.training.policy}, {"steps", trainer.next_step()}, {"output", options.output}});
  print("All " + std::to_string(trainer.next_step()) + " steps were done; what was missing is the model.\n");
  notes() << "wrote " << io::shown(options.output) << "\n";
}

void train_one(TrainOptions& options, CLI::App& command, const families::ChosenDevice& chosen,
               cluster::Communicator& job) {
  const TrainingDevice device = training_on(chosen);
  const bool is_first = job.rank() == 0;  // the only one that writes
  const std::filesystem::path folder = options.output, checkpoint = folder / checkpoint_file;
  check_train_folder(options);
  const std::vector<std::string> scaling_given = scaling_options_given(command);
  TrainSettings kept;
  if (options.resume) {
    kept = settings_of_checkpoint(checkpoint);
    take_settings(command, kept);
  }
  take_steps_of_batches(options, command);
  check_training(options.training);
  options.training.policy = training_policy(options.training.policy).name;
  TrainInputs inputs = open_inputs(options, job, *device.backend);
  const TrainSettings settings = settings_of(options, inputs, job.size());
  if (!options.model.empty()) require_settings_of_model(command, settings);
  if (options.resume) require_same_settings(command, settings, kept);
  TrainSettings of_job = settings;
  of_job["--resume"] = options.resume ? "given" : "";
  require_same_on_all_ranks(std::move(of_job), inputs, job);
  Trainer trainer(inputs.config, options.training, inputs.values, device, shared(options, job));
  inputs.values.clear();  // the model has its own
  if (options.resume) {
    trainer.read_checkpoint(checkpoint);
    // Rank 0 says for all: it may have written the model by the time that another looks.
    if (trainer.done() && cluster::sum(job, is_first && !trainer.is_written(folder)) > 0) {
      if (is_first) write_trained(trainer, options);
      return;
    }
    if (trainer.done())
      throw UsageError("--resume: the checkpoint is of step " + std::to_string(trainer.next_step()) +
                       ", and --steps is " + std::to_string(options.training.steps) +
                       (options.training.schedule == train::Schedule::constant
                            ? ": raise it"
                            : ", where the cosine ends: begin a run from that model with --model and another "
                              "--output"));
  }
  std::optional<OutputFolder> made;  // of one rank: another would take it away while this one writes
  if (is_first) {
    made.emplace(folder);
    // One that cannot be written, or a log in the place of another, is found before it is trained for.
    std::vector<std::filesystem::path> files{checkpoint, folder / model_file, folder / "config.json",
                                             folder / tokenizer_file};
    if (!options.log.empty()) files.emplace_back(options.log);
    check_output_files(files);
  }
  // Appears with the first checkpoint: a run that fails sooner leaves a model of --output as it was.
  bool is_described = options.resume;
  const auto write_checkpoint = [&] {
    if (!is_first) return;
    if (is_described) return trainer.write_checkpoint(checkpoint, settings_text(settings));
    std::vector<std::unique_ptr<io::AtomicFile>> files;
    const auto describe = [&](const char* name, const std::string& text) {
      files.push_back(std::make_unique<io::AtomicFile>(folder / name));
      files.back()->write(text);
    };
    describe("config.json", inputs.config.json());
    if (inputs.tokenizer) describe(tokenizer_file, inputs.tokenizer->json());
    // A full disk fails before any of them appears; who kills the run between them leaves no checkpoint that
    // lacks its config.
    trainer.write_checkpoint(checkpoint, settings_text(settings), [&] {
      for (const auto& file : files) file->commit();
      std::error_code ignored;  // the model that was there before had other tokens
      if (!inputs.tokenizer) std::filesystem::remove(folder / tokenizer_file, ignored);
    });
    is_described = true;
  };
  const std::int64_t first_step = trainer.next_step();
  const auto leave_behind = [&]() -> std::string {
    const std::string step = std::to_string(trainer.next_step());
    if (trainer.next_step() > first_step) write_checkpoint();
    return is_described ? "--resume goes on from the checkpoint of step " + step : "nothing was written";
  };
  TrainLog log(is_first ? options.log : "", first_step);
  if (is_first) tell_unused_scaling(scaling_given, {&options.training.policy, 1});
  tell_device(options.device, chosen);
  const std::int64_t every = options.checkpoint_every.value_or(50);
  const TrainedRun run = train_to_the_end(trainer, job, *inputs.batches, options.training.policy,
                                          options.training.steps, leave_behind, [&](const StepFacts& step) {
                                            write_or_leave(log, step, "", leave_behind);
                                            if ((step.step + 1) % every == 0 || trainer.done())
                                              write_checkpoint();
                                          });
  if (!is_first) return;
  trainer.write_model(folder);
  const std::string text = sampled(trainer, inputs, options);
  if (options.json) {
    Json json = run_json(run);
    json["output"] = options.output;
    json["sample"] = text;
    return print(json);
  }
  const StepFacts& last = run.steps.back();
  print("loss " + four_digits(run.steps.front().loss) + " -> " + four_digits(last.loss) + " in " +
        io::counted(std::ssize(run.steps), "step") + ", " + std::to_string(run.skipped()) + " skipped, " +
        four_digits(middle_speed(run)) + " tokens/s, peak memory " + in_bytes(last.memory) +
        "\ngradient norm " + four_digits(last.grad_norm) + " in the last step, loss scale " +
        four_digits(last.scale) + ", " + std::to_string(run.non_finite()) +
        " values of gradients inf or NaN in all\n");
  if (run.failed_at())
    print("The loss is not finite from step " + std::to_string(*run.failed_at()) + " on.\n");
  if (!text.empty()) print("\n" + harmless(text) + "\n");
  notes() << "wrote " << io::shown(folder) << "\n";
}

void compare(const TrainOptions& options, const CLI::App& command, const families::ChosenDevice& chosen,
             cluster::Communicator& job) {
  const TrainingDevice device = training_on(chosen);
  for (const char* name : {"--output", "--sample"})
    if (command.get_option(name)->count() > 0)
      throw UsageError(std::string(name) +
                       " does not go with --compare, which writes a table, --report and --log: "
                       "leave it out, or train under one --policy");
  const std::vector<std::string> names =
      training_policies_named("--compare", parse_list("--compare", options.compare));
  const TrainInputs inputs = open_inputs(options, job, *device.backend);
  TrainSettings settings = settings_of(options, inputs, job.size());
  if (!options.model.empty()) require_settings_of_model(command, settings);
  settings["--compare"] = options.compare;
  require_same_on_all_ranks(std::move(settings), inputs, job);
  TrainLog log(job.rank() == 0 ? options.log : "", 0);
  if (job.rank() == 0) tell_unused_scaling(scaling_options_given(command), names);
  tell_device(options.device, chosen);
  std::vector<TrainedRun> runs;
  const auto finish = [&] {
    if (job.rank() != 0) return;
    write_and_show(
        [&] {
          if (!options.report.empty()) io::write_file(options.report, train_page(runs));
        },
        [&] {
          if (!options.json) return print(aligned(comparison_table(runs), "lr"));
          Json all = Json::array();
          for (const TrainedRun& run : runs) all.push_back(run_json(run));
          print(Json{{"runs", all}});
        });
    if (!options.report.empty()) notes() << "wrote " << io::shown(options.report) << "\n";
  };
  const auto leave_behind = [&]() -> std::string {
    if (runs.empty()) return "nothing was written";
    finish();
    return std::to_string(runs.size()) + " of " + std::to_string(names.size()) + " policies were trained";
  };
  for (const std::string& name : names) {
    TrainingOptions training = options.training;
    training.policy = name;
    device.backend->reset_peak_memory();
    Trainer trainer(inputs.config, training, inputs.values, device, shared(options, job));
    runs.push_back(
        train_to_the_end(trainer, job, *inputs.batches, name, training.steps, leave_behind,
                         [&](const StepFacts& step) { write_or_leave(log, step, name, leave_behind); }));
  }
  finish();
}

/// The log and the page take the places of files that are there: not of what is trained on.
void check_inputs_of_training(const TrainOptions& options) {
  std::vector<std::filesystem::path> inputs{options.data, options.batches};
  if (!options.model.empty())
    for (const char* name : {"config.json", language_model::model_file, tokenizer_file})
      inputs.push_back(std::filesystem::path(options.model) / name);
  check_inputs_stay(std::array<std::filesystem::path, 2>{options.log, options.report}, inputs);
}

void run_train(TrainOptions& options, const ScalingOptions& scaling, CLI::App& command) {
  // An unset variable of a script is no wish for the default; empty names of files are refused before.
  for (const char* name : {"--model", "--compare"})
    if (const CLI::Option* option = command.get_option(name);
        option->count() > 0 && option->results().front().empty())
      throw UsageError(std::string(name) + " is empty: give it a value, or leave it out");
  for (const auto& [name, file] : {std::pair("--log", &options.log), {"--report", &options.report}})
    if (is_standard_output(*file))
      throw UsageError(std::string(name) + " is '" + *file + "', where the result is printed: name a file");
  if (options.threads) host::set_threads(*options.threads);
  const bool predicts = !scaling.ranks.empty();
  if (!options.report.empty() && options.compare.empty() && !predicts)
    throw UsageError("--report goes with --compare or --predict-ranks: add one of them");
  if (predicts && (options.resume || !options.compare.empty() || !options.log.empty()))
    throw UsageError("--predict-ranks does not go with --compare, --resume or --log: it writes no model");
  check_inputs_of_training(options);
  check_page_name("--report", options.report);
  cluster::Communicator& job = cluster::join_job(is_told_to_end);
  if (job.rank() != 0) set_quiet(true);
  if (predicts && options.device != "auto" && options.device != "cpu")
    throw UsageError("--predict-ranks times steps on the CPU: leave out --device " + options.device);
  const families::ChosenDevice chosen =
      families::choose_device(predicts ? "cpu" : device_of_rank(options.device, job.size(), [&] {
        return cluster::place_on_this_machine(job);
      }));
  if (!predicts && options.compare.empty()) return train_one(options, command, chosen, job);
  take_steps_of_batches(options, command);
  check_training(options.training);
  if (job.rank() == 0) {
    std::vector<std::filesystem::path> files;
    for (const std::string& name : {options.report, options.log})
      if (!name.empty()) files.emplace_back(name);
    check_output_files(files);
  }
  if (!predicts) return compare(options, command, chosen, job);
  const Scaling measured = measured_scaling(options, scaling, job);
  if (job.rank() == 0) show(measured, options);
}

}  // namespace

void add_train_command(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command =
      app.add_subcommand("train", "Trains a small language model under a policy, as AMP does");
  add_train_options(*command, *options);
  const auto scaling = std::make_shared<ScalingOptions>();
  add_scaling_options(*command, *scaling);
  command->footer(
      "--output gets config.json and model.safetensors, which transformers reads, and "
      "checkpoint.safetensors, from\n"
      "which --resume goes on. Each appears whole or not at all: a run that is killed loses the steps since "
      "its last\n"
      "checkpoint, and Ctrl-C writes one. Under naive-f16 parameters and AdamW's moments are f16 too, and "
      "the loss is soon not "
      "finite: that\n"
      "is what it shows.\n"
      "\n"
      "Examples:\n"
      "  precast train --steps 300 --lr 3e-3\n"
      "  precast train --data book.txt --policy amp-f16 --schedule cosine --warmup 20 --log log.jsonl\n"
      "  precast train --compare f32,naive-f16,amp-f16,amp-bf16 --report training.html\n"
      "  precast train --device cuda --data book.txt --policy amp-bf16 --batch 64 --context 256\n"
      "  precast train --output trained --steps 600 --resume\n"
      "  precast train --policy bf16+flash --overwrite\n"
      "  mpirun -n 2 precast train --data book.txt --batch 8 --threads 4\n"
      "  mpirun -n 8 precast train --data book.txt --device cuda --policy amp-bf16\n"
      "  precast train --predict-ranks 1,2,4,64,1024 --link-latency 5 --link-bandwidth 12.5GB");
  command->callback([options, scaling, command] { run_train(*options, *scaling, *command); });
}

}  // namespace precast::cli
