// Numbers in as few digits as say them.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace precast::io {

/// "0.6": the shortest decimal text that reads back as the same double; "inf", "-inf" or "nan".
inline std::string shortest(double value) {
  if (std::isnan(value)) return "nan";  // without the sign that to_chars shows
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

}  // namespace precast::io
