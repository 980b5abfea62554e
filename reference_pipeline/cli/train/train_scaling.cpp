#include <algorithm>
#include <optional>

#include <cli/options/arguments.hpp>
#include <cli/options/real_option.hpp>
#include <cli/options/run_options.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <cli/train/train_run.hpp>
#include <cli/train/train_scaling.hpp>
#include <cli/train/train_settings.hpp>
#include <cluster/measure_link.hpp>
#include <unistd.h>

#include <precast/cluster/step_probe.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

constexpr std::int64_t most_ranks = 1 << 20;

double tokens_per_second(const Scaling& scaling, const cluster::PredictedStep& step) {
  return static_cast<double>(scaling.tokens * step.ranks) / step.seconds();
}
/// Speed as a fraction of that of independent machines.
double efficiency(const Scaling& scaling, const cluster::PredictedStep& step) {
  return scaling.parts.seconds / step.seconds();
}

std::vector<std::vector<std::string>> table_of(const Scaling& scaling) {
  std::vector<std::vector<std::string>> table{
      {"ranks", "step (ms)", "computing (ms)", "sums (ms)", "not hidden (ms)", "tokens/s", "efficiency"}};
  for (const cluster::PredictedStep& step : scaling.steps)
    table.push_back({std::to_string(step.ranks), io::fixed(1e3 * step.seconds(), 3),
                     io::fixed(1e3 * step.compute, 3), io::fixed(1e3 * step.all_reduce, 3),
                     io::fixed(1e3 * step.waiting, 3), io::significant(tokens_per_second(scaling, step), 4),
                     io::fixed(100 * efficiency(scaling, step), 1) + "%"});
  return table;
}

std::string machine_text(const Scaling& scaling) {
  const cluster::Machine& machine = scaling.machine;
  std::string text;
  if (scaling.ranks_measured > 1)
    text += " " + std::to_string(scaling.ranks_measured) +
            " ranks that computed at the same time on this machine slowed each other down by " +
            io::fixed(100 * machine.slowdown, 1) + "% for each other rank: they share its memory.";
  else if (machine.ranks > 1)
    text +=
        " How much ranks of one machine slow each other down through its memory is not counted: start as "
        "many by "
        "mpirun to measure it.";
  std::int64_t most = 1;
  for (const cluster::PredictedStep& step : scaling.steps) most = std::max(most, step.ranks);
  if (machine.threads_per_core(most) > 1)
    text +=
        " " + std::to_string(std::min(most, machine.ranks)) + " ranks of " +
        io::counted(machine.threads, "thread") + " have " +
        io::significant(machine.threads_per_core(most), 3) + " threads for each of a machine's " +
        std::to_string(machine.cores) +
        " cores, and take turns: their predicted steps are too short by the time that they wait for a core.";
  else if (most > 1 && machine.free_core(most) < 1)
    text +=
        " Not every rank has a spare core for sums beside those on which it computes: the time that sums "
        "wait for one is not counted.";
  return text;
}

std::string link_text(const Scaling& scaling) {
  double bytes = 0;
  for (const cluster::StepSum& sum : scaling.parts.sums) bytes += sum.bytes;
  return "A link of " + io::significant(1e6 * scaling.link.latency, 4) + " us and " +
         io::significant(scaling.link.bandwidth / 1e9, 4) + " GB/s; a step sums " +
         in_bytes(static_cast<std::int64_t>(bytes)) + " in " + std::to_string(scaling.parts.sums.size()) +
         " parts, the first of them " + io::fixed(1e3 * scaling.parts.sums.front().asked, 3) +
         " ms after it began." + machine_text(scaling);
}

Json json_of(const Scaling& scaling) {
  Json sums = Json::array(), steps = Json::array();
  for (const cluster::StepSum& sum : scaling.parts.sums)
    sums.push_back({{"bytes", sum.bytes}, {"asked", sum.asked}});
  for (const cluster::PredictedStep& step : scaling.steps)
    steps.push_back({{"ranks", step.ranks},
                     {"seconds", step.seconds()},
                     {"compute", step.compute},
                     {"all_reduce", step.all_reduce},
                     {"waiting", step.waiting},
                     {"threads_per_core", scaling.machine.threads_per_core(step.ranks)},
                     {"tokens_per_second", tokens_per_second(scaling, step)},
                     {"efficiency", efficiency(scaling, step)}});
  return {{"link", {{"latency", scaling.link.latency}, {"bandwidth", scaling.link.bandwidth}}},
          {"machine",
           {{"ranks", scaling.machine.ranks},
            {"threads", scaling.machine.threads},
            {"cores", scaling.machine.cores},
            {"cores_of_rank", scaling.machine.cores_of_rank},
            {"ranks_measured", scaling.ranks_measured},
            {"slowdown", scaling.machine.slowdown}}},
          {"step",
           {{"seconds", scaling.parts.seconds},
            {"end_of_backward", scaling.parts.end_of_backward},
            {"sums", sums}}},
          {"ranks", steps}};
}

std::string page_of(const Scaling& scaling) {
  plots::Plot plot;
  plot.title = "Tokens a second by ranks";
  plot.x_name = "ranks";
  plot.y_name = "tokens a second";
  plot.powers_of_x = plot.powers_of_y = true;
  plots::Line predicted{"predicted", {}, {}}, ideal{"if sums took no time", {}, {}};
  for (const cluster::PredictedStep& step : scaling.steps) {
    const auto ranks = static_cast<double>(step.ranks);
    predicted.x.push_back(ranks);
    predicted.y.push_back(tokens_per_second(scaling, step));
    ideal.x.push_back(ranks);
    ideal.y.push_back(ranks * static_cast<double>(scaling.tokens) / scaling.parts.seconds);
  }
  plot.lines = {predicted, ideal};
  std::string body = "<h1>A training step on more ranks</h1>\n<p>" + html_text(link_text(scaling)) +
                     "</p>\n" + html_table(table_of(scaling)) + "<h2>" + plot.title + "</h2>\n" +
                     line_legend(plot) + "<div class=\"scroll\">" + line_plot("ranks", plot) + "</div>";
  return html_page("A training step on more ranks", "", body);
}

constexpr int turns = 4, steps_of_turn = 6;

/// Times the steps of a model whose all-reduces return at once.
class TimedSteps {
 public:
  explicit TimedSteps(const TrainOptions& train)
      : options_(longer(train)),
        inputs_(open_inputs(options_, alone_, language_model::training_on_cpu(),
                            data_parallel(options_, probe_))),
        trainer_(inputs_.config, options_.training, inputs_.values, language_model::training_on_cpu(),
                 data_parallel(options_, probe_)) {}

  /// Appends the steps of one turn, without the first, whose caches are cold.
  void take(std::vector<cluster::StepParts>& steps, int turn, int all_turns) {
    for (int step = 0; step < steps_of_turn; ++step) {
      throw_if_interrupted();
      probe_.begin_step();
      trainer_.step(*inputs_.batches);
      if (step > 0) steps.push_back(probe_.end_step());
      progress_.update("timing steps", turn * steps_of_turn + step + 1, all_turns * steps_of_turn);
    }
  }
  std::int64_t tokens() const { return inputs_.batches->batch() * inputs_.batches->context(); }
  void require_same_on_all_ranks(cluster::Communicator& job) const {
    cli::require_same_on_all_ranks(settings_of(options_, inputs_, job.size()), inputs_, job);
  }

 private:
  static TrainOptions longer(TrainOptions options) {
    constexpr std::int64_t most = 2 * turns * steps_of_turn;
    if (!options.batches.empty())
      if (const std::int64_t held = language_model::shape_of_batches(options.batches)[0]; held < most)
        throw UsageError("--predict-ranks times up to " + std::to_string(most) +
                         " steps, and --batches has " + std::to_string(held) +
                         ": give more, or time windows of a text (--data)");
    options.training.steps = std::max(options.training.steps, most);
    return options;
  }

  TrainOptions options_;
  cluster::Alone alone_;
  cluster::StepProbe probe_;
  TrainInputs inputs_;
  language_model::Trainer trainer_;
  ProgressReporter progress_;
};

}  // namespace

void add_scaling_options(CLI::App& command, ScalingOptions& options) {
  CLI::Option* const predict_ranks = command
                                         .add_option_function<std::string>(
                                             "--predict-ranks",
                                             [&options](const std::string& text) {
                                               options.ranks =
                                                   parse_integers("--predict-ranks", text, 1, most_ranks);
                                             },
                                             "Instead of training, times 20 steps and predicts how long one "
                                             "takes on these numbers of ranks, as in 1,2,4,1024; "
                                             "started as 2 ranks or more, it measures the link between them, "
                                             "and how much ranks of one machine slow each other down")
                                         ->type_name("LIST");
  add_real(command, "--link-latency", options.latency, 0, 1e6,
           "With --predict-ranks: microseconds that the shortest message takes between two ranks; default: "
           "measured");
  command
      .add_option_function<std::string>(
          "--link-bandwidth",
          [&options](const std::string& text) { options.bandwidth = parse_bytes("--link-bandwidth", text); },
          "With --predict-ranks: bytes a second between two ranks, such as 12.5GB; default: measured")
      ->type_name("SIZE");
  add_integer(command, "--ranks-per-machine", options.ranks_per_machine, 1, 4096,
              "With --predict-ranks: ranks that share the cores and the memory of a machine like this one; "
              "default: as many as mpirun started on it, and 1 without");
  for (const char* name : {"--link-latency", "--link-bandwidth", "--ranks-per-machine"})
    command.get_option(name)->needs(predict_ranks);
}

Scaling measured_scaling(const TrainOptions& train, const ScalingOptions& options,
                         cluster::Communicator& job) {
  if (job.size() == 1 && !(options.latency && options.bandwidth))
    throw UsageError(
        "--predict-ranks needs a link: give --link-latency and --link-bandwidth, or start two ranks by "
        "mpirun, which measure theirs");
  TimedSteps timed(train);
  timed.require_same_on_all_ranks(job);
  Scaling scaling;
  scaling.ranks_measured = cluster::ranks_of_this_machine(job);
  scaling.machine = {.ranks = options.ranks_per_machine.value_or(static_cast<int>(scaling.ranks_measured)),
                     .threads = host::threads(),
                     .cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)),
                     .cores_of_rank = host::available_cores()};
  if (job.size() > 1) scaling.link = cluster::measured_link(job);
  if (options.latency) scaling.link.latency = *options.latency * 1e-6;
  if (options.bandwidth) scaling.link.bandwidth = static_cast<double>(*options.bandwidth);
  // Alternates alone and together, so that other load on the machine affects both equally.
  const bool shares = cluster::sum(job, scaling.ranks_measured > 1 ? 1 : 0) > 0;
  std::vector<cluster::StepParts> alone, together;
  for (int turn = 0; turn < turns; ++turn) {
    if (job.rank() == 0) timed.take(alone, turn * (shares ? 2 : 1), turns * (shares ? 2 : 1));
    cluster::sum(job, 0);  // the other ranks wait here and leave rank 0 the cores
    if (!shares) continue;
    timed.take(together, 2 * turn + 1, 2 * turns);
    cluster::sum(job, 0);
  }
  if (shares) {
    const double all = cluster::sum(job, cluster::median_step(together).seconds);
    if (job.rank() == 0)
      scaling.machine.slowdown = cluster::measured_slowdown(cluster::median_step(alone).seconds,
                                                            all / static_cast<double>(job.size()),
                                                            scaling.ranks_measured, scaling.machine);
  }
  if (job.rank() != 0) return scaling;
  scaling.tokens = timed.tokens();
  scaling.parts = cluster::median_step(alone);
  for (const std::int64_t ranks : options.ranks)
    scaling.steps.push_back(predicted_step(scaling.parts, ranks, scaling.link, scaling.machine));
  return scaling;
}

void show(const Scaling& scaling, const TrainOptions& train) {
  write_and_show(
      [&] {
        if (!train.report.empty()) io::write_file(train.report, page_of(scaling));
      },
      [&] {
        if (train.json) return print(json_of(scaling));
        print(aligned(table_of(scaling), "r"));
        print("\n" + link_text(scaling) + "\n");
      });
  if (!train.report.empty()) notes() << "wrote " << io::shown(train.report) << "\n";
}

}  // namespace precast::cli
