// Help in the terminal's width, and the command `precast help`.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace precast::cli {

/// Lays help out: options beside what they do, both in lines that fit.
std::shared_ptr<CLI::Formatter> help_formatter();

/// "precast help COMMAND", which prints what "precast COMMAND --help" does.
void add_help_command(CLI::App& app);

}  // namespace precast::cli
