#include <algorithm>
#include <cstdlib>

#include <cli/terminal/wrap.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

constexpr std::size_t usual_columns = 80, fewest_columns = 40;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0u) != 0x80u; }));
}

/// The byte offset after the first `count` characters.
std::size_t place_after(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0u) != 0x80u && count-- == 0) break;
  return end;
}

/// Splits a text where a line may break: before the spaces of each word, and after '|'.
std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> found(1);
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!found.back().empty() && (space ? found.back().back() != ' ' : found.back().back() == '|'))
      found.emplace_back();
    found.back() += space ? ' ' : c;
  }
  return found;
}

/// The words of a command; quoted words are kept whole.
std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : command) {
    if (c == '"') quoted = !quoted;
    if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    words.back() += c;
  }
  return words;
}

}  // namespace

std::size_t help_columns() {
  std::size_t columns = 0;
  if (const char* wanted = std::getenv("COLUMNS")) columns = io::number_in<std::size_t>(wanted).value_or(0);
  winsize size{};
  if (columns == 0 && ::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return columns == 0 ? usual_columns : std::max(columns, fewest_columns);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::string piece : pieces(text)) {
    if (!lines.back().empty() && characters(lines.back()) + characters(piece) > width) lines.emplace_back();
    if (lines.back().empty()) piece.erase(0, piece.find_first_not_of(' '));
    while (lines.back().empty() && characters(piece) > width) {
      const std::size_t end = place_after(piece, width);
      lines.back() = piece.substr(0, end);
      lines.emplace_back();
      piece.erase(0, end);
    }
    lines.back() += piece;
  }
  return lines;
}

std::vector<std::string> wrapped_command(std::string_view command, std::size_t width) {
  std::vector<std::string> lines;
  if (characters(command) <= width) return {std::string(command)};
  if (const std::size_t comment = command.find(" # "); comment != command.npos) {
    lines = wrapped(command.substr(comment + 1), width - 4);
    for (std::string& line : lines) line.insert(0, &line == &lines.front() ? "  " : "  # ");
    command = command.substr(0, comment);
  }
  std::string line = " ";
  for (const std::string& word : command_words(command)) {
    if (line.find_first_not_of(' ') != line.npos && characters(line) + 1 + characters(word) + 2 > width) {
      lines.push_back(line + " \\");
      line = "     ";
    }
    line += " " + word;
  }
  lines.push_back(line);
  return lines;
}

}  // namespace precast::cli
