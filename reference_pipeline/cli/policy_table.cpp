// Asks the op table of a compiled policy for its rows.
#include <cli/policy_table.hpp>

#include <precast/policy/visit.hpp>

namespace precast::cli {

std::vector<OpRow> op_rows(const PolicyChoice& choice) {
  families::require_policy(choice);
  if (const families::AddedPreset* const added = families::added_preset(choice)) return added->rows;
  return visit_policy<std::vector<OpRow>>(
      choice, [](auto path) { return families::op_rows_of<typename decltype(path)::policy>(); });
}

std::string op_table_text(const PolicyChoice& choice) {
  std::vector<std::vector<std::string>> rows{
      {"op class", "storage", "operand", "accumulate", "inside", "result"}};
  const auto cell = [](std::string_view name) { return name.empty() ? std::string("–") : std::string(name); };
  for (const OpRow& row : op_rows(choice))
    rows.push_back({std::string(row.op), cell(row.storage), cell(row.operand), cell(row.accumulate),
                    cell(row.inside), cell(row.result)});
  return aligned(rows);
}

Json op_table_json(const PolicyChoice& choice) {
  const auto cell = [](std::string_view name) { return name.empty() ? Json() : Json(name); };
  Json ops;
  for (const OpRow& row : op_rows(choice))
    ops[std::string(row.op)] = {{"storage", cell(row.storage)},
                                {"operand", cell(row.operand)},
                                {"accumulate", cell(row.accumulate)},
                                {"inside", cell(row.inside)},
                                {"result", cell(row.result)}};
  const std::string_view preset = preset_of(choice);
  return {{"policy", families::spelling(choice)},
          {"preset", preset.empty() ? Json() : Json(preset)},
          {"ops", ops}};
}

std::string_view preset_of(const PolicyChoice& choice) {
  for (const NamedPreset& preset : families::all_presets())
    if (preset.choice.normalised() == choice.normalised()) return preset.name;
  return {};
}

}  // namespace precast::cli
