// Experiments as text, JSON and one page of HTML.
#pragma once

#include <span>
#include <string>

#include <cli/terminal/output.hpp>
#include <experiments/experiment.hpp>

namespace precast::cli {

/// Title, explanation, table, and the source's values beside the computed ones.
std::string experiment_text(const experiments::Experiment& experiment);

/// {"name", "title", "explanation", "source", "table": [{column: cell}], "stated": [{"what", "source",
/// "computed", "agrees"}], "plot": {"title", "x", "y", "lines": [{"name", "x", "y"}]}}.
Json experiment_json(const experiments::Experiment& experiment);

/// One self-contained HTML page, without network or scripts.
std::string experiment_page(std::span<const experiments::Experiment> all);

}  // namespace precast::cli
