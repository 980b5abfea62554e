// Reads the rows of a policy's op table.
#include <cli/options/policy_table.hpp>

#include <precast/policy/visit.hpp>

namespace precast::cli {

namespace {

/// The printed tables of a policy.
struct PolicyTables {
  std::string spelling;
  std::vector<OpRow> ops;
  GradientTable gradients;
  bool scales_loss = false;
};

PolicyTables tables_of(const PolicyChoice& choice) {
  families::require_policy(choice);
  if (const families::AddedPreset* const added = families::added_preset(choice))
    return {added->spelling, added->rows, added->gradients};
  PolicyTables tables = visit_policy<PolicyTables>(choice, [](auto path) {
    using P = typename decltype(path)::policy;
    return PolicyTables{"", op_rows_of<P>(), gradient_table_of<P>()};
  });
  tables.spelling = families::spelling(choice);
  return tables;
}

PolicyTables tables_of(const TrainingChoice& wanted) {
  PolicyTables tables;
  for_each_training_policy([&]<class P>(const TrainingChoice& choice) {
    if (choice == wanted)
      tables = {spelling_of<P>(), op_rows_of<P>(), gradient_table_of<P>(), scales_loss<P>};
  });
  return tables;
}

std::string text_cell(std::string_view name) { return name.empty() ? "–" : std::string(name); }

std::string text_of(const PolicyTables& tables) {
  std::vector<std::vector<std::string>> ops{
      {"op class", "storage", "operand", "accumulate", "inside", "result"}};
  for (const auto& [op, dtypes] : tables.ops)
    ops.push_back({std::string(op), text_cell(dtypes.storage), text_cell(dtypes.operand),
                   text_cell(dtypes.accumulate), text_cell(dtypes.inside), text_cell(dtypes.result)});
  std::vector<std::vector<std::string>> gradients{
      {"gradient of", "operand", "accumulate", "inside", "of inputs", "of parameters"}};
  for (const GradientRow& row : tables.gradients.rows)
    gradients.push_back({std::string(row.op), text_cell(row.operand), text_cell(row.accumulate),
                         text_cell(row.inside), text_cell(row.result), text_cell(row.parameters)});
  const GradientTable& trained = tables.gradients;
  return aligned(ops) + "\n" + aligned(gradients) +
         "linear layers in training: results and gradients of inputs rounded to " +
         std::string(trained.product) + ", of parameters to " + std::string(trained.parameter_product) +
         "\noptimiser: parameters and moments in " + std::string(trained.master) +
         (tables.scales_loss ? ", the loss scaled\n" : "\n");
}

Json json_of(const PolicyTables& tables) {
  Json ops, gradients;
  for (const OpRow& row : tables.ops) ops[std::string(row.op)] = dtypes_json(row.dtypes);
  for (const GradientRow& row : tables.gradients.rows)
    gradients[std::string(row.op)] = {{"operand", text_or_null(row.operand)},
                                      {"accumulate", text_or_null(row.accumulate)},
                                      {"inside", text_or_null(row.inside)},
                                      {"result", text_or_null(row.result)},
                                      {"parameters", text_or_null(row.parameters)}};
  return {{"policy", tables.spelling},
          {"preset", nullptr},
          {"ops", ops},
          {"gradients", gradients},
          {"product", text_or_null(tables.gradients.product)},
          {"parameter_product", text_or_null(tables.gradients.parameter_product)},
          {"master", text_or_null(tables.gradients.master)}};
}

}  // namespace

std::vector<OpRow> op_rows(const PolicyChoice& choice) { return tables_of(choice).ops; }

std::string policy_tables_text(const PolicyChoice& choice) { return text_of(tables_of(choice)); }
std::string policy_tables_text(const TrainingChoice& choice) { return text_of(tables_of(choice)); }

Json policy_tables_json(const PolicyChoice& choice) {
  Json json = json_of(tables_of(choice));
  const std::string_view preset = preset_of(choice);
  if (!preset.empty()) json["preset"] = preset;
  return json;
}
Json policy_tables_json(const TrainingChoice& choice) {
  const PolicyTables tables = tables_of(choice);
  Json json = json_of(tables);
  json["training"] = to_string(choice);
  json["scales_loss"] = tables.scales_loss;
  return json;
}

std::string spelling(const TrainingChoice& choice) { return tables_of(choice).spelling; }

std::string_view preset_of(const PolicyChoice& choice) {
  for (const NamedPreset& preset : families::all_presets())
    if (preset.choice.normalised() == choice.normalised()) return preset.name;
  return {};
}

}  // namespace precast::cli
