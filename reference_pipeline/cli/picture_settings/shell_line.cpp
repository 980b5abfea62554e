// Formats a command as a line for a shell.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include <cli/picture_settings/picture_settings.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

bool has_controls(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\n' && io::control_at(text, i)) return true;
  return false;
}

/// $'…' with each control character as three octal digits, so that a digit may follow.
std::string with_escapes(std::string_view word) {
  std::string result = "$'";
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::size_t length = io::control_at(word, i);
    if (length == 0) {
      if (word[i] == '\'' || word[i] == '\\') result += '\\';
      result += word[i];
      continue;
    }
    for (const char c : word.substr(i, length)) {
      char digits[8];
      std::snprintf(digits, sizeof digits, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += digits;
    }
    i += length - 1;
  }
  return result + '\'';
}

}  // namespace

std::string shell_line(std::span<const std::string> arguments) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./:=+,@%").find(c) != std::string_view::npos;
  };
  std::string line;
  for (const std::string& word : arguments) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::ranges::all_of(word, plain)) {
      line += word;
      continue;
    }
    if (has_controls(word)) {
      line += with_escapes(word);
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace precast::cli
