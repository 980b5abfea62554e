// Prompts from the command line, from files and from standard input.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace precast::cli {

/// The prompts of a file, one a line: without empty lines, a byte order mark or the returns of Windows.
/// Throws InputError that names the file where it holds none, or more than a run can want.
std::vector<std::string> prompts_in(std::istream& file, const std::string& name);

/// The prompts that were given, those of `file` after them; "-" among them or as the file is standard input.
/// Throws UsageError where there is no prompt, and InputError.
std::vector<std::string> read_prompts(const std::vector<std::string>& given,
                                      const std::optional<std::string>& file);

}  // namespace precast::cli
