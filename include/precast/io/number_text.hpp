// Numbers as text and back, with a point whatever the locale, "inf" and "-inf", and "nan" without a sign.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace precast::io {

namespace detail {

template <class... Format>
std::string number_text(double value, Format... format) {
  if (std::isnan(value)) return "nan";  // without the sign that to_chars shows
  // The longest: all digits before the point, and as many after it as callers ask for.
  constexpr int longest_after_point = 32;
  char text[std::numeric_limits<double>::max_exponent10 + longest_after_point + 4];
  return {text, std::to_chars(text, text + sizeof text, value, format...).ptr};
}

}  // namespace detail

/// The number that a text is from its first character to its last; nothing where it is none, has more than
/// a number, such as a space or a plus sign, or is one that Number does not hold.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

/// "0.6": the shortest decimal text that reads back as the same double.
inline std::string shortest(double value) { return detail::number_text(value); }

/// "0.60": as many digits after the point as `decimals` says, at most 32.
inline std::string fixed(double value, int decimals) {
  return detail::number_text(value, std::chars_format::fixed, decimals);
}

/// "0.6", "6e-07": as many significant digits as `digits` says, at most 32, without zeros at the end; with an
/// exponent where that is shorter, as %g of printf.
inline std::string significant(double value, int digits) {
  return detail::number_text(value, std::chars_format::general, digits);
}

/// "11,837,294,656".
inline std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace precast::io
