// Prompts from the command line, from files and from standard input.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace precast::cli {

/// The prompts of a file, one a line, without empty lines, byte order mark and carriage returns. Throws
/// InputError that names the file if it has no prompt, or more than a run accepts.
std::vector<std::string> prompts_in(std::istream& file, const std::string& name);

/// The given prompts, followed by those of `file`; "-", as a prompt or as the file, is standard input.
/// Throws UsageError if there is no prompt, and InputError.
std::vector<std::string> read_prompts(const std::vector<std::string>& given,
                                      const std::optional<std::string>& file);

}  // namespace precast::cli
