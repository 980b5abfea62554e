// Results: what a benchmark measured, as a file that shards of it are merged from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <plots/plot.hpp>

namespace precast::timing {

/// The column that numbers the cases of the whole benchmark, from 0: the first of each table.
inline constexpr const char* case_column = "case";

/// What was measured, a row for each case that is done.
struct Results {
  std::string benchmark;  ///< "lm"
  std::string settings;   ///< all cases of the whole benchmark, in words: the same for each shard
  plots::Table table;
  std::int64_t cases = 0;  ///< of the whole benchmark; 0 where a file does not say
};

/// Results and the name that messages have for them.
struct NamedResults {
  std::string name;
  Results results;
};

/// {"benchmark", "settings", "cases", "columns": [name], "rows": [{column: cell}]}.
std::string results_json(const Results& results);
/// Reads what results_json wrote. Throws InputError that names the file and what is wrong.
Results read_results(const std::filesystem::path& path);

/// The cases of all of them, at least one, in the order of their numbers. Throws InputError that names two
/// files where they are of other benchmarks or settings, or have measured the same case.
Results merge_results(std::span<const NamedResults> all);

/// Numbers of the whole benchmark's cases that have no row.
std::vector<std::int64_t> missing_cases(const Results& results);

}  // namespace precast::timing
