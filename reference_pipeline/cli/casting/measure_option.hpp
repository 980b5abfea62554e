// --measure: which value of a cost file is used.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <casting/cost_measure.hpp>

namespace precast::cli {

/// Adds --measure; `measure` must outlive the command.
CLI::Option* add_measure_option(CLI::App& command, casting::Measure& measure, const std::string& description);

}  // namespace precast::cli
