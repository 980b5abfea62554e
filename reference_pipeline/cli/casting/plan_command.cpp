// precast plan: chooses a format for each layer, so that the error is least at a given size.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <casting/castable.hpp>
#include <casting/measure_plan.hpp>
#include <casting/planner.hpp>
#include <casting/sample_file.hpp>
#include <cli/casting/cost_measuring.hpp>
#include <cli/casting/cost_resuming.hpp>
#include <cli/casting/plan_options.hpp>
#include <cli/casting/plan_table.hpp>
#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <convert/type_choice.hpp>
#include <families/device.hpp>
#include <families/registry.hpp>
#include <formats/registry.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// Warns if the cost file names other samples or another policy than --verify runs.
void warn_of_other_inputs(const PlanOptions& options, const casting::CostFile& file,
                          const casting::Samples& samples) {
  if (!file.settings || !file.settings->samples) return;
  const casting::CostConditions here = with_inputs(*file.settings, samples, options.policy);
  if (*file.settings == here) return;
  print_warnings({io::shown(options.cost) + " was measured under other conditions (" +
                  io::printable(file.settings->in_words()) + ") than --verify (" + here.inputs_in_words() +
                  "): the two errors are not of the same inputs or policy"});
}

/// Warns that convert cannot write the plan to one file; generate --plan can still use it.
void warn_of_unwritable_plan(const casting::Plan& plan) {
  std::vector<DtypeInfo> types;
  for (const auto& [layer, name] : plan.types)
    if (const auto type = formats::find_type(name)) types.push_back(*type);
  if (const auto both = conversion::in_no_file_together(types))
    print_warnings(
        {"no file has both " + both->first + ", which needs .gguf, and " + both->second +
         ", which needs .safetensors: convert cannot write this plan; choose --types of one kind of file"});
}

/// Runs the planned model on the samples.
casting::PlanMeasurement verified(const PlanOptions& options, const casting::CostFile& file,
                                  const casting::Plan& plan) {
  const families::ModelFiles model = model_files(options.model, options.component_files);
  const casting::Samples samples = casting::read_samples(options.samples);
  const families::ChosenDevice device = families::choose_device(options.device);
  const auto pipeline =
      families::open(model, families::ComponentChoices::all(parse_policy(options.policy)), *device.backend);
  ProgressReporter reporter;
  const std::string written =
      options.output.empty() ? "nothing was written" : "the plan is written, and was not verified";
  const auto blocks = pipeline->load_blocks([&](const families::Progress& at) {
    throw_if_interrupted(written);
    reporter.update(at.stage, at.done, at.total);
  });
  casting::PlanMeasurement measured;
  try {
    measured = casting::measure_plan(*blocks, samples.recorded, plan, io::shown(options.cost),
                                     [&](std::int64_t done, std::int64_t total) {
                                       throw_if_interrupted(written);
                                       reporter.update("verify", done, total);
                                     });
  } catch (const ShapeError& problem) {
    throw of_another_model(options.samples, samples, cast_model_name(model, options.model), problem);
  }
  reporter.clear();
  warn_of_other_inputs(options, file, samples);
  return measured;
}

/// The measured error to compare with the plan's prediction.
double measured_error(const PlanOptions& options, const casting::PlanMeasurement& measured) {
  return options.request.measure == casting::Measure::cost ? measured.cost : measured.relative_cost;
}

void plan(PlanOptions options) {
  if (is_standard_output(options.output))
    throw UsageError("--output is '" + options.output + "': the plan is on standard output with --json");
  if (!options.request.budget && !options.request.bits && !options.request.error)
    throw UsageError("a plan keeps to a size or to an error: give --budget, --bits or --error");
  const casting::Measure measure = options.request.measure;
  if (options.verify && options.samples.empty())
    throw UsageError("--verify needs --samples: a file that `precast record` wrote");
  if (options.verify && measure != casting::Measure::cost && measure != casting::Measure::relative_cost)
    throw UsageError(
        "--verify measures cost and relative_cost: a loss is of one layer, not of a planned model");
  if (!options.output.empty()) {
    const std::array outputs{std::filesystem::path(options.output)};
    check_output_files(outputs);
    check_inputs_stay(outputs, std::array<std::filesystem::path, 2>{options.cost, options.samples});
    if (options.verify) check_inputs_stay(outputs, model_files(options.model, options.component_files));
  }
  const std::filesystem::path path = options.cost;
  const casting::CostFile file = casting::read_cost_file(path);
  options.request.limits.poll = [] { throw_if_interrupted(); };
  const casting::PlanResult result = casting::make_plan(file, path, options.request);
  warn_of_missing(path, file, "plan");
  warn_of_unwritable_plan(result.plan);
  for (const std::string& type : result.left_out)
    notes() << "left out: " << io::printable(type, 40)
            << ", which this build does not have (name it in --types)\n";
  if (options.verify) casting::require_types("--verify", result.plan.formats());
  if (!options.output.empty()) casting::write_plan(options.output, result.plan);
  std::optional<casting::PlanMeasurement> measured;
  if (options.verify) measured = verified(options, file, result.plan);
  if (options.json) {
    Json json = plan_json(result);
    if (measured)
      json["verified"] = {{"error", json_number(measured_error(options, *measured))},
                          {"cost", json_number(measured->cost)},
                          {"relative_cost", json_number(measured->relative_cost)},
                          {"bits", measured->bits}};
    print(json);
  } else {
    print(plan_summary(result) + "\n" + plan_table(result) +
          (measured ? "\n" + verified_line(result, measured_error(options, *measured)) : ""));
  }
  if (!options.output.empty() && !options.json) notes() << "wrote " << io::shown(options.output) << "\n";
}

}  // namespace

void add_plan_command(CLI::App& app) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "The format of each layer that loses least within a size, from the measured costs of casting");
  add_plan_options(*command, *options);
  command->callback([options] { plan(*options); });
}

}  // namespace precast::cli
