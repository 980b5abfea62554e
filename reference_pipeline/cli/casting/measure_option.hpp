// --measure: which number of a cost file is meant.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <casting/cost_measure.hpp>

namespace precast::cli {

/// Adds it; `measure` must outlive the command.
CLI::Option* add_measure_option(CLI::App& command, casting::Measure& measure, const std::string& description);

}  // namespace precast::cli
