// Large numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace precast::families {

/// "11,837,294,656".
inline std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace precast::families
