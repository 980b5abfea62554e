// Text in lines of a width, and the width of the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace precast::cli {

/// Columns to write help in: $COLUMNS where it is a number, those of the terminal that stdout is, else 80; at
/// least 40.
std::size_t help_columns();

/// A text in lines of at most `width` characters; a line break in it is a space. Breaks at spaces and after
/// '|', and within a word that is longer than a line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// A command in lines of at most `width` characters that a shell takes as one: each but the last ends in a
/// backslash, and texts in quotes stay whole. The first begins with two spaces, the others with six. A
/// comment that does not fit stands above it.
std::vector<std::string> wrapped_command(std::string_view command, std::size_t width);

}  // namespace precast::cli
