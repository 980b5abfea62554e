// `precast bench --output`: the results as one self-contained HTML page.
#pragma once

#include <string>

#include <timing/results.hpp>

namespace precast::cli {

/// The page, in HTML: times and memory over the length of the context, a line for each kind of case, and the
/// table.
std::string bench_page(const timing::Results& results);

}  // namespace precast::cli
