// Text from files in messages: one printable line, whatever the file says.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <precast/error.hpp>

namespace precast::io {

/// Text as it can stand in a one-line message: control characters become '?', and what is longer than
/// `longest` bytes is cut, at a character's start.
inline std::string printable(std::string_view text, std::size_t longest = 120) {
  std::string line(text.substr(0, longest));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (text.size() > longest) {
    while (!line.empty() && (static_cast<unsigned char>(text[line.size()]) & 0xc0) == 0x80) line.pop_back();
    line += "...";
  }
  return line;
}

/// A path as it stands at the start of a message.
inline std::string shown(const std::filesystem::path& path) { return printable(path.string(), 4096); }

/// An InputError that reads "PATH: problem".
inline InputError file_error(const std::filesystem::path& path, const std::string& problem) {
  return InputError(shown(path) + ": " + problem);
}

/// An InputError that reads "PATH: problem: the system's words for errno: advice".
inline InputError system_error(const std::filesystem::path& path, const std::string& problem,
                               int error_number, const std::string& advice) {
  return file_error(path, problem + ": " + std::generic_category().message(error_number) + ": " + advice);
}

}  // namespace precast::io
