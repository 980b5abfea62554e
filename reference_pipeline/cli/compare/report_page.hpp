// `compare --report`: one self-contained HTML page, which needs no network, and scripts only for its
// slider.
#pragma once

#include <span>
#include <string>

#include <cli/compare/comparison.hpp>

namespace precast::cli {

/// The settings of the comparison.
struct ReportFacts {
  std::string prompt, model, device;
  std::uint64_t seed = 0;
  int width = 0, height = 0, steps = 0;
};

/// The page, in HTML: pictures beside the reference with a slider and their differences, the table, the five
/// dtypes of each op class, and the largest values by layer. At least one row; the first is the reference.
std::string report_page(const ReportFacts& facts, std::span<const Compared> rows);

}  // namespace precast::cli
