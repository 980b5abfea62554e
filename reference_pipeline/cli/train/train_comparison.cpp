// precast train --compare: trains under several policies, from the same initial values on the same data.
#include <string>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/train/train_log.hpp>
#include <cli/train/train_modes.hpp>
#include <cli/train/train_report.hpp>
#include <cli/train/train_run.hpp>
#include <cli/train/train_settings.hpp>
#include <language_model/training_device.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

void compare_training(const TrainOptions& options, const CLI::App& command,
                      const families::ChosenDevice& chosen, cluster::Communicator& job) {
  const language_model::TrainingDevice device = language_model::training_on(chosen);
  for (const char* name : {"--output", "--sample"})
    if (command.get_option(name)->count() > 0)
      throw UsageError(std::string(name) +
                       " cannot be combined with --compare, which writes a table, --report and --log: "
                       "leave it out, or train under one --policy");
  const std::vector<std::string> names = options.policies();
  const TrainInputs inputs = open_inputs(options, job, device, data_parallel(options, job));
  TrainSettings settings = settings_of(options, inputs, job.size());
  if (!options.model.empty()) require_settings_of_model(command, settings);
  settings["--compare"] = options.compare;
  require_same_on_all_ranks(std::move(settings), inputs, job);
  TrainLog log(job.rank() == 0 ? options.log : "", 0);
  if (job.rank() == 0) warn_of_unused_options(GivenOptions(command), names, job.size());
  note_device(options.device, chosen);
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
  const auto save_on_interrupt = [&]() -> std::string {
    if (!runs.empty()) finish();
    return std::to_string(runs.size()) + " of " + std::to_string(names.size()) + " policies were trained";
  };
  for (const std::string& name : names) {
    language_model::TrainingOptions training = options.training;
    training.policy = name;
    device.backend->reset_peak_memory();
    language_model::Trainer trainer(inputs.config, training, inputs.values, device,
                                    data_parallel(options, job));
    const auto after_step = [&](const language_model::StepFacts& step) {
      log.write_or_leave(step, name, save_on_interrupt);
    };
    runs.push_back(train_to_the_end(trainer, job, inputs,
                                    {.save_on_interrupt = save_on_interrupt,
                                     .after_step = after_step,
                                     .takes_last_gradients = !options.report.empty()}));
  }
  finish();
}

}  // namespace precast::cli
