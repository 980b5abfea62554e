// precast train: trains a language model on a text, under a policy.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/device_of_rank.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/train/train_inputs.hpp>
#include <cli/train/train_modes.hpp>
#include <cli/train/train_options.hpp>
#include <cli/train/train_scaling.hpp>
#include <cli/train/train_settings.hpp>
#include <cli/train/train_signals.hpp>
#include <cluster/measure_link.hpp>
#include <unistd.h>

#include <precast/host/runtime/default_threads.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/io/counted.hpp>

namespace precast::cli {

namespace {

/// A warning if a rank has more threads than cores, as Slurm or mpirun (which by default binds each of two
/// ranks to one core) allow it; "" if there are enough, or the rank may use the whole machine.
std::string bound_to_few_cores() {
  const int cores = host::available_cores(), threads = host::threads();
  if (threads <= cores || cores >= sysconf(_SC_NPROCESSORS_ONLN)) return "";
  return io::counted(threads, "thread") + " of a rank share " + io::counted(cores, "core") +
         ", all that it may run on: give mpirun --bind-to none (or --bind-to socket), Slurm a larger "
         "--cpus-per-task, or fewer --threads";
}

void run_train(TrainOptions& options, const ScalingOptions& scaling, CLI::App& command) {
  // An empty value comes from an unset variable in a script; empty file names were refused before.
  for (const char* name : {"--model", "--validation", "--compare"})
    if (const CLI::Option* option = command.get_option(name);
        option->count() > 0 && option->results().front().empty())
      throw UsageError(std::string(name) + " is empty: give it a value, or leave it out");
  for (const auto& [name, file] : {std::pair("--log", &options.log), {"--report", &options.report}})
    if (is_standard_output(*file))
      throw UsageError(std::string(name) + " is '" + *file + "', where the result is printed: name a file");
  set_threads(options.threads);
  const bool predicts = !scaling.ranks.empty();
  if (!options.report.empty() && options.compare.empty() && !predicts)
    throw UsageError("--report needs --compare or --predict-ranks: add one of them");
  if (predicts)
    for (const char* name : {"--compare", "--resume", "--log", "--output", "--overwrite",
                             "--checkpoint-every", "--sample", "--validation", "--validate-every"})
      if (command.get_option(name)->count() > 0)
        throw UsageError(
            std::string(name) +
            " cannot be combined with --predict-ranks, which times steps and writes no model: leave it "
            "out");
  check_inputs_of_training(options);
  check_page_name("--report", options.report);
  cluster::Communicator& job = cluster::join_job(stop_requested);
  if (job.rank() != 0) set_quiet(true);
  if (job.size() > 1 && job.rank() == 0)
    if (const std::string few = bound_to_few_cores(); !few.empty()) print_warnings({few});
  // The checks that follow depend on these.
  TrainSettings mode{{"--device", options.device == "auto" ? "cpu" : options.device},
                     {"--compare", options.compare}};
  mode["--predict-ranks"] = predicts ? command.get_option("--predict-ranks")->results().front() : "";
  require_same_on_all_ranks(mode, job);
  if (predicts && options.device != "auto" && options.device != "cpu")
    throw UsageError("--predict-ranks times steps on the CPU: leave out --device " + options.device);
  const families::ChosenDevice chosen =
      families::choose_device(predicts ? "cpu" : device_of_rank(options.device, job.size(), [&] {
        return cluster::place_on_this_machine(job);
      }));
  if (!predicts && options.compare.empty()) return train_one(options, command, chosen, job);
  resolve_training(options, command);
  if (job.rank() == 0) {
    std::vector<std::filesystem::path> files;
    for (const std::string& name : {options.report, options.log})
      if (!name.empty()) files.emplace_back(name);
    check_output_files(files);
  }
  if (!predicts) return compare_training(options, command, chosen, job);
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
      "checkpoint.safetensors, from\nwhich --resume continues. Each appears whole or not at all: a run that "
      "is killed loses the steps since "
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
      "  mpirun -n 2 --bind-to none precast train --data book.txt --batch 8 --threads 4\n"
      "  mpirun -n 8 precast train --data book.txt --device cuda --policy amp-bf16\n"
      "  precast train --predict-ranks 1,2,4,64,1024 --link-latency 5 --link-bandwidth 12.5GB");
  command->callback([options, scaling, command] { run_train(*options, *scaling, *command); });
}

}  // namespace precast::cli
