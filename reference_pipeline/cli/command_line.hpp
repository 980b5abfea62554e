// Checks a command line before CLI11 parses it: CLI11 would take the next option for a missing value, and
// its messages say little.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace precast::cli {

enum class CommandLine : bool { fits, asks_for_help };

/// Checks arguments, which begin with the command's name, against the command's options. Throws UsageError
/// for an option that is unknown, repeated, without a value, with an empty file name, or in conflict with
/// another one; for a missing option; and for an extra argument. If --help is among the arguments, no other
/// check is made.
CommandLine check_command_line(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace precast::cli
