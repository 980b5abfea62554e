// `precast report`: what casting costs, as one page that holds everything and needs nothing, or as tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/plan_file.hpp>

namespace precast::cli {

/// A cost file, and a plan where there is one, with their names for messages.
struct CostReport {
  std::filesystem::path cost_path, plan_path;
  casting::CostFile file;
  std::optional<casting::Plan> plan;
  casting::Measure measure = casting::Measure::cost;  ///< that plans are made by, and of single tables
};

/// The page, in HTML: each measure by layer and format, its tables, also weighted by parameters, sizes
/// against predicted errors with the best plans and every uniform format, and the plan. Throws InputError
/// where the plan does not belong to the cost file.
std::string cost_page(const CostReport& report);

/// The same tables in Markdown, each under a heading.
std::string cost_markdown(const CostReport& report);

}  // namespace precast::cli
