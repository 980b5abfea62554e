// precast policy: which dtype every op class stores, multiplies, sums, keeps and returns under a policy.
#include <memory>
#include <string>

#include <cli/auto_preset.hpp>
#include <cli/commands.hpp>
#include <cli/output.hpp>
#include <cli/policy_options.hpp>
#include <cli/policy_table.hpp>

#include <precast/policy/paths.hpp>

namespace precast::cli {

namespace {

void print_presets(bool json) {
  Json policies = Json::array();
  std::string text;
  for (const NamedPreset& preset : families::all_presets()) {
    const bool compiled = families::added_preset(preset.choice) || path_compiled(preset.choice);
    if (json) {
      if (compiled) policies.push_back(op_table_json(preset.choice));
      continue;
    }
    text += (text.empty() ? "" : "\n") + std::string(preset.name) + ": " + std::string(preset.summary) +
            "\n" + families::spelling(preset.choice) + "\n";
    text += compiled ? op_table_text(preset.choice) : "not in this build\n";
  }
  if (json)
    print(Json{{"policies", policies}});
  else
    print(text);
}

}  // namespace

void add_policy_command(CLI::App& app) {
  struct Options {
    PolicyOptions policy;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "policy", "Which number format every op class uses under a policy: the resolved op table");
  add_policy_options(*command, options->policy);
  command->add_flag("--json", options->json, "JSON on stdout");
  command->footer(
      "storage: parameters at rest. operand: what is computed with (as given: in the dtype it comes in).\n"
      "accumulate: what sums are kept in. inside: what an op keeps between its steps (attention scores, a\n"
      "norm's variance). result: what is stored.\n"
      "\n"
      "Examples:\n"
      "  precast policy                                        # all presets\n"
      "  precast policy --preset memory --json\n"
      "  precast policy --precision f16 --upcast-attention     # a policy that is no preset");
  command->callback([options] {
    if (options->policy.empty()) return print_presets(options->json);
    PolicyChoice base;
    if (options->policy.automatic()) {
      const auto candidates = compiled_candidates([](const PolicyChoice&) { return std::int64_t{0}; });
      const AutoChoice chosen = choose_preset(machine_of(families::choose_device("auto")), candidates);
      std::cerr << "preset auto: " << chosen.preset.name << " (" << chosen.reason << ")\n";
      base = chosen.preset.choice;
    }
    const PolicyChoice choice = resolved(options->policy, base).normalised();
    if (options->json) return print(op_table_json(choice));
    const std::string_view preset = preset_of(choice);
    print(families::spelling(choice) + (preset.empty() ? "" : " (the preset " + std::string(preset) + ")") +
          "\n" + op_table_text(choice));
  });
}

}  // namespace precast::cli
