// Wraps text to a width, and the width of the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace precast::cli {

/// The width of help: $COLUMNS if it is a number, else that of the terminal on stdout, else 80; at least
/// 40.
std::size_t help_columns();

/// Wraps a text to lines of at most `width` characters; line breaks in it count as spaces. Breaks at
/// spaces, after '|', and inside words longer than a line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Wraps a command to lines of at most `width` characters, as one command for a shell: each line but the
/// last ends in a backslash, and quoted texts stay whole. The first line is indented by two spaces, the
/// others by six. A comment that does not fit is put above the command.
std::vector<std::string> wrapped_command(std::string_view command, std::size_t width);

}  // namespace precast::cli
