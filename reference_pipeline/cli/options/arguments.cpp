// Parses values of options more strictly than strtol: the whole text counts, without surrounding spaces.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include <cli/options/arguments.hpp>

#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

/// The number that strtod reads; nothing if the text is not a number, or has more than a number.
std::optional<double> real_number(const std::string& text) {
  if (text.empty() || std::string_view(" \t\n\v\f\r").find(text.front()) != std::string_view::npos)
    return std::nullopt;
  // strtod also accepts nan(payload), which no other tool prints.
  if (text.find('(') != std::string::npos || text.find('\0') != std::string::npos) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool is_list_option(std::string_view name) {
  return name == "--prompt" || name == "--policies" || name == "--merge";
}

std::int64_t parse_integer(std::string_view option, const std::string& text, std::int64_t low,
                           std::int64_t high) {
  const auto value = io::number_in<std::int64_t>(text);
  if (!value || *value < low || *value > high)
    throw UsageError(std::string(option) + " is '" + text + "': it takes a whole number from " +
                     std::to_string(low) + " to " + std::to_string(high));
  return *value;
}

std::uint64_t parse_seed(std::string_view option, const std::string& text, std::string_view or_else) {
  const auto value = io::number_in<std::uint64_t>(text);
  if (!value)
    throw UsageError(std::string(option) + " is '" + text +
                     "': it takes a whole number from 0 to 18446744073709551615" + std::string(or_else));
  return *value;
}

double parse_real(std::string_view option, const std::string& text, double low, double high, Ends ends) {
  const bool has_low = ends == Ends::both || ends == Ends::below_high,
             has_high = ends == Ends::both || ends == Ends::above_low;
  const auto value = real_number(text);
  if (!value || !(has_low ? *value >= low : *value > low) || !(has_high ? *value <= high : *value < high))
    throw UsageError(std::string(option) + " is '" + text + "': it takes a number " +
                     (has_low ? "from " : "above ") + io::shortest(low) +
                     (has_low && has_high ? " to "
                      : has_high          ? " and up to "
                      : has_low           ? " to below "
                                          : " and below ") +
                     io::shortest(high));
  return *value;
}

std::int64_t parse_bytes(std::string_view option, const std::string& text) {
  static constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},         {"b", 1},    {"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0},
      {"tib", 0x1p40}, {"kb", 1e3}, {"mb", 1e6},     {"gb", 1e9},        {"tb", 1e12}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto number = real_number(text.substr(0, end));
  for (const auto& [name, factor] : units)
    if (number && unit == name && *number * factor >= 1 && *number * factor < 0x1p60)
      return static_cast<std::int64_t>(*number * factor);
  throw UsageError(std::string(option) + " is '" + text +
                   "': it takes a size above 0, such as 6.5GiB, 6500MB or a number of bytes");
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    if (names.back().empty())
      throw UsageError(std::string(option) + " is '" + std::string(text) +
                       "': it takes a comma-separated list without empty parts");
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw UsageError(std::string(option) + " names " + names.back() + " twice");
    begin = end + 1;
  }
  return names;
}

std::vector<std::int64_t> parse_integers(std::string_view option, std::string_view text, std::int64_t low,
                                         std::int64_t high) {
  std::vector<std::int64_t> values;
  for (const std::string& part : parse_list(option, text)) {
    values.push_back(parse_integer(option, part, low, high));
    if (std::count(values.begin(), values.end(), values.back()) > 1)
      throw UsageError(std::string(option) + " names " + std::to_string(values.back()) +
                       " twice, the second time as " + part);
  }
  return values;
}

double parse_double(const std::string& text) {
  const auto value = real_number(text);
  if (!value) throw UsageError("'" + text + "' is not a number: write 1.5, -3e-8, 0x1.8p3, inf or nan");
  const bool out_of_range = errno == ERANGE;
  if (out_of_range && std::isinf(*value))
    throw UsageError(
        text + " is too large for a double, which ends at 1.7976931348623157e308: write inf for infinity");
  if (out_of_range && *value == 0)
    throw UsageError(text +
                     " is too small for a double, which ends at 4.9406564584124654e-324: write 0 for zero");
  return *value;
}

std::string parse_name(std::string_view option, const std::string& text,
                       std::span<const std::string_view> names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string nearest = nearest_name(text, known);
  throw UsageError(std::string(option) + " is '" + text + "': it takes " + listed(known) +
                   (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

std::string nearest_name(std::string_view text, std::span<const std::string> names) {
  std::string nearest;
  std::size_t least = text.size() > 4 ? 3 : 2;  // a typo has at most two edits, one in a short word
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(text, name);
    const bool begins = text.size() >= 3 && name.starts_with(text);
    if (distance < least || (begins && nearest.empty())) {
      nearest = name;
      least = std::min(least, distance);
    }
  }
  return nearest;
}

std::string listed(std::span<const std::string> names, std::string_view last_word) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i) text += i + 1 == names.size() ? " " + std::string(last_word) + " " : ", ";
    text += names[i];
  }
  return text;
}

std::vector<std::string> plain_arguments(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "formats") {
    std::vector<std::string> options{arguments.front()}, numbers;
    bool only_numbers = false;
    const auto is_option = [](const std::string& argument) {
      return argument.size() > 1 && argument.front() == '-' && !real_number(argument);
    };
    for (auto argument = arguments.begin() + 1; argument != arguments.end(); ++argument) {
      if (!only_numbers && *argument == "--")
        only_numbers = true;
      else
        (!only_numbers && is_option(*argument) ? options : numbers).push_back(*argument);
    }
    if (numbers.empty()) return options;
    options.emplace_back("--");
    options.insert(options.end(), numbers.begin(), numbers.end());
    return options;
  }
  std::vector<std::string> plain;
  std::string list;  // the list option whose values are being read, if any
  bool first = false;
  for (const std::string& argument : arguments) {
    const bool long_option = argument.starts_with("--");
    const bool short_option =
        argument.size() == 2 && argument[0] == '-' && std::isalpha(static_cast<unsigned char>(argument[1]));
    if (!list.empty() && (first || argument.empty() || argument.front() != '-')) {
      if (first && (long_option || short_option))
        throw UsageError(list + " needs a value before " + argument + " (write " + list + "=" + argument +
                         " if that is the value)");
      plain.insert(plain.end(), {list, argument});
      first = false;
      continue;
    }
    if (argument == "-p" || is_list_option(argument)) {
      list = argument == "-p" ? "--prompt" : argument;
      first = true;
      continue;
    }
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    list = equals != std::string::npos && is_list_option(name) ? name : "";
    const bool has_empty_value = long_option && equals + 1 == argument.size();
    if (list.empty() && !has_empty_value)
      plain.push_back(argument);
    else
      plain.insert(plain.end(), {name, argument.substr(equals + 1)});
  }
  if (first) throw UsageError(list + " needs a value");
  return plain;
}

}  // namespace precast::cli
