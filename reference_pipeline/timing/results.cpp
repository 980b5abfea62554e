#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <casting/cost_table.hpp>
#include <casting/json_fields.hpp>
#include <plots/cells.hpp>
#include <timing/results.hpp>

#include <precast/error.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::timing {

namespace {

using plots::Cell;

constexpr std::int64_t most_cases = 1'000'000;

double case_of(const std::vector<Cell>& row) { return std::get<double>(row.front()); }

Cell read_cell(const std::filesystem::path& path, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  throw io::file_error(path, "a cell of a row is " + io::json_in_words(value) +
                                 ": check that this is a file of precast bench");
}

std::vector<std::string> read_columns(const casting::JsonFields& fields) {
  const nlohmann::json* const columns = fields.find("columns");
  std::vector<std::string> names;
  if (columns && columns->is_array())
    for (const nlohmann::json& name : *columns)
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.empty() || names.size() != columns->size() || names.front() != case_column)
    throw fields.error("columns",
                       "must be a list of names that begins with \"case\": check that this is a "
                       "file of precast bench");
  return names;
}

/// A cell as JSON; whole numbers without a point, as the numbers of cases are.
nlohmann::ordered_json json_of(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell))
    if (plots::is_whole(*value)) return static_cast<std::int64_t>(*value);
  return plots::cell_json(cell);
}

casting::CostTable as_texts(const Results& results) { return {plots::text_rows(results.table)}; }

[[noreturn]] void differ(const NamedResults& a, const NamedResults& b, const std::string& what) {
  throw InputError(io::printable(a.name) + " and " + io::printable(b.name) + " " + what +
                   ": merge shards of one benchmark, each once");
}

}  // namespace

std::string results_json(const Results& results) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const auto& row : results.table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[results.table.columns[i]] = json_of(row[i]);
    rows.push_back(std::move(object));
  }
  const Json all{{"benchmark", results.benchmark},
                 {"settings", results.settings},
                 {"cases", results.cases},
                 {"columns", results.table.columns},
                 {"rows", rows}};
  return io::indented_json(all) + "\n";
}

Results read_results(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  const nlohmann::json json =
      casting::parse_own_json(file.text(), path, "what precast bench wrote with --json");
  const casting::JsonFields fields(path, "", json);
  const auto text = [&](const char* key) {
    const auto found = fields.text(key);
    if (!found) throw fields.error(key, "is missing: check that this is a file of precast bench");
    return *found;
  };
  Results results{text("benchmark"), text("settings"), {read_columns(fields), {}}};
  results.cases = fields.integer("cases", 0, most_cases).value_or(0);
  const nlohmann::json* const rows = fields.find("rows");
  if (!rows || !rows->is_array())
    throw fields.error("rows", "must be a list: check that this is a file of precast bench");
  for (const nlohmann::json& value : *rows) {
    const casting::JsonFields row(path, "row " + std::to_string(results.table.rows.size() + 1) + ": ", value);
    if (!row.integer(case_column, 0, results.cases > 0 ? results.cases - 1 : most_cases))
      throw row.error(case_column, "is missing: check that this is a file of precast bench");
    std::vector<Cell>& cells = results.table.rows.emplace_back();
    for (const std::string& name : results.table.columns) {
      const nlohmann::json* const cell = row.find(name.c_str());
      if (!cell) throw row.error(name.c_str(), "is missing: each row has all columns");
      cells.push_back(read_cell(path, *cell));
    }
  }
  return results;
}

Results merge_results(std::span<const NamedResults> all) {
  const NamedResults& first = all.front();
  Results merged{first.results.benchmark,
                 first.results.settings,
                 {first.results.table.columns, {}},
                 first.results.cases};
  std::map<double, const NamedResults*> owners;
  for (const NamedResults& named : all) {
    if (named.results.benchmark != merged.benchmark || named.results.settings != merged.settings ||
        named.results.cases != merged.cases || named.results.table.columns != merged.table.columns)
      differ(first, named, "are of two benchmarks");
    for (const auto& row : named.results.table.rows) {
      const auto [owner, is_new] = owners.emplace(case_of(row), &named);
      if (!is_new) differ(*owner->second, named, "both have case " + plots::cell_text(row.front()));
      merged.table.rows.push_back(row);
    }
  }
  std::ranges::sort(merged.table.rows, [](const auto& a, const auto& b) { return case_of(a) < case_of(b); });
  return merged;
}

std::vector<std::int64_t> missing_cases(const Results& results) {
  std::vector<bool> found(static_cast<std::size_t>(results.cases));
  for (const auto& row : results.table.rows)
    if (const auto number = static_cast<std::size_t>(case_of(row)); number < found.size())
      found[number] = true;
  std::vector<std::int64_t> missing;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i]) missing.push_back(static_cast<std::int64_t>(i));
  return missing;
}

std::string results_markdown(const Results& results) { return casting::as_markdown(as_texts(results)); }
std::string results_csv(const Results& results) { return casting::as_csv(as_texts(results)); }

}  // namespace precast::timing
