// What arguments may say: numbers in ranges and names from lists, with errors of one line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <families/setting_ranges.hpp>

#include <precast/error.hpp>

namespace precast::cli {

/// A command line that asks for something there is not; the program ends with exit code 2.
struct UsageError : Error {
  using Error::Error;
};

/// A decimal integer in [low, high]. Throws UsageError that names the option.
std::int64_t parse_integer(std::string_view option, const std::string& text, std::int64_t low,
                           std::int64_t high);

/// A seed: a decimal integer in [0, 2^64). Throws UsageError that names the option, and ends in `or_else`:
/// what else the option takes.
std::uint64_t parse_seed(std::string_view option, const std::string& text, std::string_view or_else = "");

/// Which ends of a range are numbers of it.
enum class Ends : std::uint8_t { both, above_low, below_high, neither };

/// A finite number in [low, high], or without one of the ends. Throws UsageError that names the option.
double parse_real(std::string_view option, const std::string& text, double low, double high,
                  Ends ends = Ends::both);
inline double parse_real(std::string_view option, const std::string& text, const families::Range& range) {
  return parse_real(option, text, range.least, range.most);
}

/// A size in bytes, at least 1: a number, then nothing, B, or a unit of 1024 (KiB, MiB, GiB, TiB) or 1000
/// (kB, MB, GB, TB), in either case; what is left of a byte is dropped. Throws UsageError that names the
/// option.
std::int64_t parse_bytes(std::string_view option, const std::string& text);

/// The names in a list with commas between. Throws UsageError that names the option, where one is empty or
/// stands there twice.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);

/// The integers in such a list, each in [low, high]. Throws UsageError as above, and where one stands there
/// twice in two spellings.
std::vector<std::int64_t> parse_integers(std::string_view option, std::string_view text, std::int64_t low,
                                         std::int64_t high);

/// Any number as a double, rounded once: decimal or hexadecimal (0x1.8p3), inf and nan, either sign. Throws
/// UsageError for anything else, and for what a double cannot hold.
double parse_double(const std::string& text);

/// `text` where `names` holds it. Throws UsageError with the list, and the nearest name where one is near.
std::string parse_name(std::string_view option, const std::string& text,
                       std::span<const std::string_view> names);

/// The name that `text` is a slip of the fingers away from, or "".
std::string nearest_name(std::string_view text, std::span<const std::string> names);

/// "quality, fast or memory".
std::string listed(std::span<const std::string> names, std::string_view last_word = "or");

/// Whether an option of that name takes several values side by side: `--prompt a b`. Such options are bound
/// to no variable: CLI11 wants the name before each.
bool is_list_option(std::string_view name);

/// Rewrites arguments where CLI11 would misread them: after `formats`, numbers that begin with a minus; after
/// `--prompt` (`-p`), `--policies` and `--merge`, lists of texts that may be empty or begin with a bracket;
/// and `--option=`, for which it would take the next argument.
std::vector<std::string> plain_arguments(const std::vector<std::string>& arguments);

}  // namespace precast::cli
