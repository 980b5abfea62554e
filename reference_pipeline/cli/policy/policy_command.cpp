// precast policy: prints the dtypes of every op class under a policy.
#include <memory>
#include <string>

#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/auto_preset.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/policy_table.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/message.hpp>
#include <precast/policy/paths.hpp>

namespace precast::cli {

namespace {

void print_presets(bool json) {
  Json policies = Json::array();
  std::string text;
  for (const NamedPreset& preset : families::all_presets()) {
    const bool compiled = families::added_preset(preset.choice) || path_compiled(preset.choice);
    if (json) {
      if (compiled) policies.push_back(policy_tables_json(preset.choice));
      continue;
    }
    text += (text.empty() ? "" : "\n") + std::string(preset.name) + ": " + std::string(preset.summary) +
            "\n" + families::spelling(preset.choice) + "\n";
    text += compiled ? policy_tables_text(preset.choice) : "not in this build\n";
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
    std::string training;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "policy", "Which number format every op class uses under a policy: the resolved op table");
  add_policy_options(*command, options->policy);
  command
      ->add_option("--training", options->training,
                   "A training policy by its name, as train --policy takes it: a regime (" +
                       training_regimes_in_words() +
                       ") or a preset, then any of +flash, +upcast-attention and +upcast-matmul")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "JSON on stdout");
  command->footer(
      "storage: parameters at rest. operand: what is computed with (as given: in the dtype it comes in).\n"
      "accumulate: what sums are kept in. inside: what an op keeps between its steps (attention scores, a\n"
      "norm's variance). result: what is stored. The second table is of gradients, which training computes:\n"
      "those of an op's inputs and of its parameters, and what its optimiser keeps.\n"
      "\n"
      "Examples:\n"
      "  precast policy                                        # all presets\n"
      "  precast policy --preset memory --json\n"
      "  precast policy --training amp-f16                     # what train --policy amp-f16 computes in\n"
      "  precast policy --precision f16 --upcast-attention     # a policy that is no preset");
  command->callback([options, command] {
    if (command->count("--training") > 0) {
      if (!options->policy.empty())
        throw UsageError("--training names a whole policy: leave out --preset, --precision and the like");
      const auto choice = training_choice_named(options->training);
      if (!choice)
        throw UsageError("--training is '" + io::printable(options->training, 60) +
                         "', which is not the name of a training policy: it takes " +
                         training_names_in_words());
      if (options->json) return print(policy_tables_json(*choice));
      return print(to_string(*choice) + ": " + spelling(*choice) + "\n" + policy_tables_text(*choice));
    }
    if (options->policy.empty()) return print_presets(options->json);
    PolicyChoice base;
    if (options->policy.automatic()) {
      const auto candidates = compiled_candidates([](const PolicyChoice&) { return std::int64_t{0}; });
      const AutoChoice chosen = choose_preset(machine_of(families::choose_device("auto")), candidates);
      std::cerr << "preset auto: " << chosen.preset.name << " (" << chosen.reason << ")\n";
      base = chosen.preset.choice;
    }
    const PolicyChoice choice = resolved(options->policy, base).normalised();
    if (options->json) return print(policy_tables_json(choice));
    const std::string_view preset = preset_of(choice);
    print(families::spelling(choice) + (preset.empty() ? "" : " (the preset " + std::string(preset) + ")") +
          "\n" + policy_tables_text(choice));
  });
}

}  // namespace precast::cli
