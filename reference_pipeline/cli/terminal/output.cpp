// Prints JSON, numbers and columns.
#include <algorithm>
#include <cerrno>
#include <iostream>

#include <cli/terminal/output.hpp>

#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/json_text.hpp>

namespace precast::cli {

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

Json dtypes_json(const DtypeNames& dtypes) {
  return {{"storage", text_or_null(dtypes.storage)},
          {"operand", text_or_null(dtypes.operand)},
          {"accumulate", text_or_null(dtypes.accumulate)},
          {"inside", text_or_null(dtypes.inside)},
          {"result", text_or_null(dtypes.result)}};
}

namespace {

int first_lost = 0;  ///< errno of the first failed write to standard output

}  // namespace

void print(const Json& json) { print(io::indented_json(json) + '\n'); }

void print(const std::string& text) { print(std::as_bytes(std::span(text))); }

void print(std::span<const std::byte> bytes) {
  const io::FileSizeSignalHeld held;
  errno = 0;
  std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::cout.flush();  // before the next note, whose flush would hide the error
  if (!std::cout && !first_lost) first_lost = errno ? errno : EIO;
}

int flush_standard_output() {
  const io::FileSizeSignalHeld held;
  errno = 0;
  if (std::cout.flush()) return 0;
  if (!first_lost) first_lost = errno ? errno : EIO;
  return first_lost;
}

void write_and_show(const std::function<void()>& write_files, const std::function<void()>& show) {
  try {
    write_files();
  } catch (const Error&) {
    show();
    throw;
  }
  show();
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::string& alignment) {
  const auto columns_of = [](const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
  };
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - columns_of(row[i]), ' ');
      if (i) line += "  ";
      line += alignment[std::min(i, alignment.size() - 1)] == 'r' ? gap + row[i] : row[i] + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace precast::cli
