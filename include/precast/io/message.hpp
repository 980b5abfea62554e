// Text from files in messages: one printable line, whatever the file says.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <precast/error.hpp>

namespace precast::io {

/// The bytes of the control character at this place of a text: one; the two that Latin-1's upper ones take in
/// UTF-8, which terminals obey as well; the three of those that end a line or turn the order in which what
/// follows is shown (U+2028 to U+202E, U+2066 to U+2069), with which a name reads as another. 0 where there
/// is none.
inline std::size_t control_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  if (byte(at) == 0xc2) return byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0 ? 2 : 0;
  if (byte(at) != 0xe2) return 0;
  const bool turns_or_ends_line = byte(at + 1) == 0x80 && byte(at + 2) >= 0xa8 && byte(at + 2) <= 0xae;
  const bool isolates = byte(at + 1) == 0x81 && byte(at + 2) >= 0xa6 && byte(at + 2) <= 0xa9;
  return turns_or_ends_line || isolates ? 3 : 0;
}

/// Text as it can stand in a one-line message: control characters become '?', and what is longer than
/// `longest` bytes is cut, at a character's start.
inline std::string printable(std::string_view text, std::size_t longest = 120) {
  std::size_t kept = std::min(text.size(), longest);
  if (text.size() > longest)
    while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;
  std::string line;
  for (std::size_t at = 0; at < kept;) {
    const std::size_t control = control_at(text, at);
    line += control ? '?' : text[at];
    at += control ? control : 1;
  }
  return text.size() > longest ? line + "..." : line;
}

/// A path as it stands at the start of a message.
inline std::string shown(const std::filesystem::path& path) { return printable(path.string(), 4096); }

/// What is wrong with a file; what() reads "PATH: problem".
struct FileError : InputError {
  FileError(std::filesystem::path file, std::string wrong)
      : InputError(shown(file) + ": " + wrong), path(std::move(file)), problem(std::move(wrong)) {}

  std::filesystem::path path;
  std::string problem;
};

inline FileError file_error(const std::filesystem::path& path, const std::string& problem) {
  return {path, problem};
}

/// The error that reads "PATH: problem: the system's words for errno: advice".
inline FileError system_error(const std::filesystem::path& path, const std::string& problem, int error_number,
                              const std::string& advice) {
  return file_error(path, problem + ": " + std::generic_category().message(error_number) + ": " + advice);
}

/// The error of a file that could not be written, with what helps against this errno.
inline FileError write_error(const std::filesystem::path& path, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT;
  if (error_number == EFAULT)  // its bytes are in a map of another file
    return file_error(
        path, "could not be written: a file that is read to make it became shorter: get that file again");
  return system_error(path, "could not be written", error_number,
                      is_full                 ? "free some space, or choose another place"
                      : error_number == EFBIG ? "raise the limit on the size of files (ulimit -f)"
                                              : "check the disk that it is on, or choose another place");
}

}  // namespace precast::io
