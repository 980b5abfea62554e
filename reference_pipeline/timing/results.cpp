#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <plots/cells.hpp>
#include <plots/table_text.hpp>
#include <timing/results.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::timing {

namespace {

using plots::Cell;

constexpr std::int64_t most_cases = 1'000'000;

double case_of(const std::vector<Cell>& row) { return std::get<double>(row.front()); }

Cell read_cell(const io::Config& row, const std::string& column) {
  const nlohmann::json& value = row.value(column);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  throw row.wrong(column, "must be a text, a number, true or false", value);
}

[[noreturn]] void differ(const NamedResults& a, const NamedResults& b, const std::string& what) {
  throw InputError(io::printable(a.name) + " and " + io::printable(b.name) + " " + what +
                   ": merge shards of one benchmark, each once");
}

}  // namespace

std::string results_json(const Results& results) {
  io::Json rows = io::Json::array();
  for (const auto& row : results.table.rows) {
    io::Json object = io::Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[results.table.columns[i]] = plots::cell_json(row[i]);
    rows.push_back(std::move(object));
  }
  const io::Json all{{"benchmark", results.benchmark},
                     {"settings", results.settings},
                     {"cases", results.cases},
                     {"columns", results.table.columns},
                     {"rows", rows}};
  return io::indented_json(all) + "\n";
}

Results read_results(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  const io::Config json = io::Config::of_own(file.text(), path, "what precast bench wrote with --json");
  Results results{json.string("benchmark"), json.string("settings"), {json.strings("columns"), {}}};
  const std::vector<std::string>& columns = results.table.columns;
  if (columns.empty() || columns.front() != case_column)
    throw json.error("columns", "must begin with \"case\": check that this is a file of precast bench");
  results.cases = json.integer_or("cases", 0, 0, most_cases);
  for (const io::Config& row : json.objects("rows")) {
    row.integer(case_column, 0, results.cases > 0 ? results.cases - 1 : most_cases);
    std::vector<Cell>& cells = results.table.rows.emplace_back();
    for (const std::string& column : columns) cells.push_back(read_cell(row, column));
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

}  // namespace precast::timing
