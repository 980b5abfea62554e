#include <plots/table_text.hpp>

#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>

namespace precast::plots {

namespace {

std::string quoted_for_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string markdown_text(std::string_view text) {
  const std::string shown = io::printable(text, text.size());
  // An ampersand is plain before a space, as in the benchmarks' "fwd & back", which a program that reads
  // tables looks for; before other characters it may begin a character reference.
  const auto is_plain = [&](std::size_t at) { return at + 1 == shown.size() || shown[at + 1] == ' '; };
  std::string escaped;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    if (c == '|' || c == '<' || c == '\\' || (c == '&' && !is_plain(i))) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string as_markdown(const TextRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (const std::string& cell : row) text += "| " + markdown_text(cell) + (cell.empty() ? "" : " ");
    text += "|\n";
    if (&row != &rows.front()) continue;
    text += "|---|";
    for (std::size_t i = 1; i < row.size(); ++i) text += "--:|";
    text += '\n';
  }
  return text;
}

std::string as_csv(const TextRows& rows) {
  std::string text;
  for (const auto& row : rows) text += io::joined(row, ",", quoted_for_csv) + '\n';
  return text;
}

}  // namespace precast::plots
