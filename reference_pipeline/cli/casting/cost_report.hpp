// `precast report`: casting costs as one self-contained HTML page, or as tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/plan_file.hpp>

namespace precast::cli {

/// A cost file, optionally a plan, and their paths for messages.
struct CostReport {
  std::filesystem::path cost_path, plan_path;
  casting::CostFile file;
  std::optional<casting::Plan> plan;
  casting::Measure measure = casting::Measure::cost;  ///< for the plans, and for single tables
};

/// The HTML page: each measure by layer and format, as plots and tables (also weighted by parameters);
/// sizes against predicted errors, for the best plans and every uniform format; and the plan. Throws
/// InputError if the plan does not belong to the cost file.
std::string cost_page(const CostReport& report);

/// The same tables in Markdown, each under a heading.
std::string cost_markdown(const CostReport& report);

}  // namespace precast::cli
