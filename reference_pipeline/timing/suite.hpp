// Suite: the cases of a benchmark, each of which can say what it needs and be measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <timing/results.hpp>
#include <timing/runs.hpp>

namespace precast::timing {

using Row = std::vector<plots::Cell>;

struct SuiteCase {
  std::int64_t work = 1;  ///< of all of its runs, in thousand million operations: for progress
  std::int64_t runs = 1;  ///< how often `measure` calls what it is given
  std::function<std::int64_t()> needed_memory;  ///< bytes
  std::function<Row(const BeforeRun& before_run)> measure;
  std::function<Row(const std::string& reason)> refused;  ///< the row of a case that is not measured
};

struct Suite {
  Results empty;  ///< a table without rows
  std::vector<SuiteCase> cases;
};

}  // namespace precast::timing
