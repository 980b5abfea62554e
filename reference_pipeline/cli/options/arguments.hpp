// Parsers of options' values: numbers in ranges and names from lists, with one-line errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <families/setting_ranges.hpp>

#include <precast/error.hpp>

namespace precast::cli {

/// An invalid command line; the program ends with exit code 2.
struct UsageError : Error {
  using Error::Error;
};

/// A decimal integer in [low, high]. Throws UsageError that names the option.
std::int64_t parse_integer(std::string_view option, const std::string& text, std::int64_t low,
                           std::int64_t high);

/// A seed: a decimal integer in [0, 2^64). Throws UsageError that names the option and ends in `or_else`,
/// the other values that the option takes.
std::uint64_t parse_seed(std::string_view option, const std::string& text, std::string_view or_else = "");

/// Which ends of a range belong to it.
enum class Ends : std::uint8_t { both, above_low, below_high, neither };

/// A finite number in [low, high], or without one of the ends. Throws UsageError that names the option.
double parse_real(std::string_view option, const std::string& text, double low, double high,
                  Ends ends = Ends::both);
inline double parse_real(std::string_view option, const std::string& text, const families::Range& range) {
  return parse_real(option, text, range.least, range.most);
}

/// A size in bytes, at least 1: a number, then nothing, B, or a unit of 1024 (KiB, MiB, GiB, TiB) or 1000
/// (kB, MB, GB, TB), in either case, rounded down to whole bytes. Throws UsageError that names the
/// option.
std::int64_t parse_bytes(std::string_view option, const std::string& text);

/// The names in a comma-separated list. Throws UsageError that names the option if a name is empty or
/// repeated.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);

/// The integers in such a list, each in [low, high]. Throws UsageError as parse_list does, also if an
/// integer is repeated in another spelling.
std::vector<std::int64_t> parse_integers(std::string_view option, std::string_view text, std::int64_t low,
                                         std::int64_t high);

/// Any number as a double, rounded once: decimal or hexadecimal (0x1.8p3), inf and nan, either sign. Throws
/// UsageError for any other text, and for numbers out of a double's range.
double parse_double(const std::string& text);

/// `text` if it is in `names`. Throws UsageError with the list, and the nearest name if there is one.
std::string parse_name(std::string_view option, const std::string& text,
                       std::span<const std::string_view> names);

/// The name that `text` is a probable misspelling of, or "".
std::string nearest_name(std::string_view text, std::span<const std::string> names);

/// "quality, fast or memory".
std::string listed(std::span<const std::string> names, std::string_view last_word = "or");

/// Whether an option takes several values side by side: `--prompt a b`. Such options are not bound to a
/// variable, since CLI11 requires the name before each value.
bool is_list_option(std::string_view name);

/// Rewrites arguments that CLI11 would misread: after `formats`, negative numbers; after `--prompt` (`-p`),
/// `--policies` and `--merge`, lists of texts that may be empty or begin with a bracket; and `--option=`,
/// for which CLI11 would take the next argument as the value.
std::vector<std::string> plain_arguments(const std::vector<std::string>& arguments);

}  // namespace precast::cli
