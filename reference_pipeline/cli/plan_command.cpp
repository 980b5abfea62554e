// precast plan: which format each layer gets, so that a model of a size comes out best.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <casting/planner.hpp>
#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/interrupt.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/plan_table.hpp>
#include <cli/run_options.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

struct PlanOptions {
  std::string cost, output;
  casting::PlanRequest request;
  bool json = false;
};

void plan(PlanOptions options) {
  if (is_standard_output(options.output))
    throw UsageError("--output is '" + options.output + "': the plan is on standard output with --json");
  if (!options.request.budget && !options.request.bits && !options.request.error)
    throw UsageError("a plan keeps to a size or to an error: give --budget, --bits or --error");
  if (!options.output.empty()) check_output_files(std::array{std::filesystem::path(options.output)});
  const std::filesystem::path path = options.cost;
  const casting::CostFile file = casting::read_cost_file(path);
  options.request.limits.poll = [] { throw_if_interrupted(); };
  const casting::PlanResult result = casting::make_plan(file, path, options.request);
  for (const std::string& type : result.left_out)
    notes() << "left out: " << io::printable(type, 40)
            << ", which this build does not have (name it in --types)\n";
  if (!options.output.empty()) casting::write_plan(options.output, result.plan);
  if (options.json)
    print(plan_json(result));
  else
    print(plan_summary(result) + "\n" + plan_table(result));
  if (!options.output.empty() && !options.json) notes() << "wrote " << io::shown(options.output) << "\n";
}

}  // namespace

void add_plan_command(CLI::App& app) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "The format of each layer that loses least at a size, from what casting costs");
  command
      ->add_option("--cost,-c", options->cost,
                   "What casting each layer to each format costs: a file that precast cost wrote")
      ->type_name("FILE")
      ->required();
  CLI::Option* budget =
      command
          ->add_option_function<std::string>(
              "--budget",
              [options](const std::string& text) { options->request.budget = parse_bytes("--budget", text); },
              "Bytes that the layers of the cost file may take together: 6.5GiB, 6500MB")
          ->type_name("SIZE");
  CLI::Option* bits = command
                          ->add_option_function<std::string>(
                              "--bits",
                              [options](const std::string& text) {
                                options->request.bits = parse_real("--bits", text, 0.01, 64);
                              },
                              "The same as an average of bits a parameter, scales of blocks included")
                          ->type_name("X");
  command
      ->add_option_function<std::string>(
          "--error",
          [options](const std::string& text) {
            options->request.error = parse_real("--error", text, 0, 1e300);
          },
          "Instead of a size: the predicted error that is allowed; the plan is as small as can be")
      ->type_name("E")
      ->excludes(budget)
      ->excludes(bits);
  budget->excludes(bits);
  command
      ->add_option_function<std::string>(
          "--types",
          [options](const std::string& text) { options->request.types = parse_list("--types", text); },
          "Formats to choose from, with commas between; default: all of the cost file that this build has")
      ->type_name("TYPE,...");
  command
      ->add_option_function<std::string>(
          "--measure",
          [options](const std::string& text) {
            const std::string name = parse_name("--measure", text, casting::measure_names);
            options->request.measure = static_cast<casting::Measure>(
                std::ranges::find(casting::measure_names, name) - casting::measure_names.begin());
          },
          "Which number of the cost file is added up and made small; default cost")
      ->type_name(casting::measure_choices);
  command
      ->add_option_function<std::string>(
          "--time-limit",
          [options](const std::string& text) {
            options->request.limits.seconds = parse_real("--time-limit", text, 0, 1e6);
          },
          "Seconds after which the search gives what it has, and says how far from the best that may be; "
          "default 60")
      ->type_name("S");
  command
      ->add_option("--output,-o", options->output,
                   "The plan as JSON, for precast convert and generate --plan")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "The plan as JSON on stdout, with what it is held against");
  add_quiet_option(*command);
  command->footer(
      "The predicted error is the sum of the layers' numbers, as if they added up. The plan is the best "
      "there is by\n"
      "that sum, which is proved, not estimated; beside it stand the greedy method (the step that costs "
      "least for the\n"
      "bytes that it saves, again and again) and every format of the file in all layers.\n"
      "\n"
      "Examples:\n"
      "  precast plan --cost cost.json --bits 5 --output plan.json\n"
      "  precast plan --cost cost.json --budget 6.5GiB --types q8_0,q6_k,q4_k,q3_k\n"
      "  precast plan --cost cost.json --error 0.002 --measure relative_cost --json");
  command->callback([options] { plan(*options); });
}

}  // namespace precast::cli
