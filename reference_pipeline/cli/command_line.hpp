// Whether a command line fits its command, in words of ours: CLI11, which parses it then, would take the next
// option for a missing value, and says little of what does not fit.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace precast::cli {

enum class CommandLine : bool { fits, asks_for_help };

/// Checks arguments, which begin with the command's name, against the options that the command has. Throws
/// UsageError for an option that is not known, is given twice, has no value or an empty file name, or does
/// not go with another one; for one that is missing; and for an argument too many. Where one of them is
/// --help, nothing else matters.
CommandLine check_command_line(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace precast::cli
