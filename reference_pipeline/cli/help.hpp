// Help in the terminal's width, and the command `precast help`.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace precast::cli {

/// A formatter that lays out options beside their descriptions, in lines that fit.
std::shared_ptr<CLI::Formatter> help_formatter();

/// Adds "precast help COMMAND", which prints what "precast COMMAND --help" does.
void add_help_command(CLI::App& app);

}  // namespace precast::cli
