#include <algorithm>
#include <limits>
#include <vector>

#include <cli/casting/measure_option.hpp>
#include <cli/casting/plan_options.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/run_options.hpp>

namespace precast::cli {

namespace {

/// Adds --verify, and the options of its run.
void add_verifying_options(CLI::App& command, PlanOptions& options) {
  CLI::Option* verify =
      command
          .add_flag(
              "--verify", options.verify,
              "Runs the planned model on samples, and shows its measured error beside the predicted one")
          ->group("Verifying");
  command.add_option("--samples", options.samples, "For --verify: what `precast record` wrote")
      ->type_name("FILE")
      ->group("Verifying")
      ->needs(verify);
  const std::vector<CLI::Option*> before = command.get_options();
  add_model_option(command, options.model);
  add_component_options(command, options.component_files);
  add_device_option(command, options.device);
  for (CLI::Option* option : command.get_options())  // they have no effect without a run
    if (std::ranges::find(before, option) == before.end()) option->group("Verifying")->needs(verify);
  command.add_option("--policy", options.policy, "For --verify: the policy that the model runs under")
      ->type_name(policy_names())
      ->capture_default_str()
      ->group("Verifying")
      ->needs(verify);
}

}  // namespace

void add_plan_options(CLI::App& command, PlanOptions& options) {
  command
      .add_option("--cost,-c", options.cost,
                  "What casting each layer to each format costs: a file that precast cost wrote")
      ->type_name("FILE")
      ->required();
  CLI::Option* budget =
      command
          .add_option_function<std::string>(
              "--budget",
              [&options](const std::string& text) { options.request.budget = parse_bytes("--budget", text); },
              "Bytes that the layers of the cost file may take together: 6.5GiB, 6500MB")
          ->type_name("SIZE");
  CLI::Option* bits = command
                          .add_option_function<std::string>(
                              "--bits",
                              [&options](const std::string& text) {
                                options.request.bits = parse_real("--bits", text, 0.01, 64);
                              },
                              "The same as average bits per parameter, scales of blocks included")
                          ->type_name("X");
  command
      .add_option_function<std::string>(
          "--error",
          [&options](const std::string& text) {
            options.request.error = parse_real("--error", text, 0, std::numeric_limits<double>::max());
          },
          "Instead of a size: the predicted error that is allowed; the plan is as small as can be")
      ->type_name("E")
      ->excludes(budget)
      ->excludes(bits);
  budget->excludes(bits);
  command
      .add_option_function<std::string>(
          "--types",
          [&options](const std::string& text) { options.request.types = parse_list("--types", text); },
          "Formats to choose from, comma-separated; default: all of the cost file that this build has, "
          "as --version lists block formats; convert writes others too")
      ->type_name("TYPE,...");
  add_measure_option(command, options.request.measure,
                     "The number of the cost file whose sum is minimised; default cost");
  command
      .add_option_function<std::string>(
          "--time-limit",
          [&options](const std::string& text) {
            options.request.limits.seconds = parse_real("--time-limit", text, 0, 1e6);
          },
          "Time limit of the search in seconds, at which it returns the best plan so far, and how much "
          "better the best may be; default 60")
      ->type_name("S");
  command
      .add_option("--output,-o", options.output, "The plan as JSON, for precast convert and generate --plan")
      ->type_name("FILE");
  command.add_flag("--json", options.json, "The plan as JSON on stdout, with what it is compared with");
  add_verifying_options(command, options);
  add_quiet_option(command);
  command.footer(
      "The predicted error is the sum of the layers' numbers, as if they added up. The plan is the best "
      "there is by\n"
      "that sum, which is proved, not estimated; beside it stand the greedy method (the step that costs "
      "least for the\n"
      "bytes that it saves, again and again) and every format of the file in all layers.\n"
      "\n"
      "Examples:\n"
      "  precast plan --cost cost.json --bits 5 --output plan.json\n"
      "  precast plan --cost cost.json --budget 6.5GiB --types q8_0,q6_k,q4_k,q3_k\n"
      "  precast plan --cost cost.json --bits 5 --verify --samples samples.safetensors\n"
      "  precast plan --cost cost.json --error 0.002 --measure relative_cost --json");
}

}  // namespace precast::cli
