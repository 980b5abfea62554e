// Tables of names: how two programs call the parameters of one model, and which rows of one are another.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::io {

/// A line of a table. In both names '#' stands for a number, '~' for one that the two count from opposite
/// ends, and '*' for "weight" or "bias". Where theirs is several of ours, one above the other, ours is
/// `count` of its `of` equal parts of rows, from part `first` on.
struct NameLine {
  std::string_view theirs, ours;
  int first = 0, count = 1, of = 1;
  bool halves_swapped = false;  ///< the first half of the rows of one is the second half of the other's
  bool transposed = false;      ///< the rows of one are the columns of the other
};

/// A parameter's name in the other naming, and which rows: as in NameLine.
struct NamedRows {
  std::string name;
  int first = 0, count = 1, of = 1;
  bool halves_swapped = false, transposed = false;

  friend bool operator==(const NamedRows&, const NamedRows&) = default;
};

/// The name that `to` makes of a name that `from` describes, or nothing. '~' is counted to `levels` - 1.
inline std::optional<std::string> translated(std::string_view name, std::string_view from,
                                             std::string_view to, std::int64_t levels = 0) {
  std::vector<std::int64_t> numbers;
  std::string_view ending;
  for (const char expected : from) {
    if (expected == '#' || expected == '~') {
      std::int64_t number = 0;
      const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
      const auto digits = static_cast<std::size_t>(end - name.data());
      if (failed != std::errc{} || name.front() == '-' || (digits > 1 && name.front() == '0'))
        return std::nullopt;
      if (expected == '~' && number >= levels) return std::nullopt;
      numbers.push_back(expected == '~' ? levels - 1 - number : number);
      name.remove_prefix(digits);
    } else if (expected == '*') {
      if (name != "weight" && name != "bias") return std::nullopt;
      ending = name;
      name = {};
    } else {
      if (name.empty() || name.front() != expected) return std::nullopt;
      name.remove_prefix(1);
    }
  }
  if (!name.empty()) return std::nullopt;
  std::string result;
  auto number = numbers.begin();
  for (const char c : to) {
    if (c == '#' || c == '~')
      result += std::to_string(*number++);
    else if (c == '*')
      result += ending;
    else
      result += c;
  }
  return result;
}

/// Where the parameter that we call `ours` lies in the other naming; nothing where the table has no line.
inline std::optional<NamedRows> their_rows(std::span<const NameLine> table, std::string_view ours,
                                           std::int64_t levels = 0) {
  for (const NameLine& line : table)
    if (auto name = translated(ours, line.ours, line.theirs, levels))
      return NamedRows{std::move(*name), line.first,          line.count,
                       line.of,          line.halves_swapped, line.transposed};
  return std::nullopt;
}

/// Our parameters that lie in the one that the other naming calls `theirs`, by their rows; none where the
/// table has no line.
inline std::vector<NamedRows> our_rows(std::span<const NameLine> table, std::string_view theirs,
                                       std::int64_t levels = 0) {
  std::vector<NamedRows> rows;
  for (const NameLine& line : table)
    if (auto name = translated(theirs, line.theirs, line.ours, levels))
      rows.push_back(
          {std::move(*name), line.first, line.count, line.of, line.halves_swapped, line.transposed});
  std::ranges::sort(rows, {}, &NamedRows::first);
  return rows;
}

}  // namespace precast::io
