// Lists and sizes as the tables of benchmarks have them.
#pragma once

#include <cstdint>
#include <string>

namespace precast::timing {

inline std::string same_text(const std::string& text) { return text; }
inline std::string number_text(std::int64_t value) { return std::to_string(value); }

/// "1,2,3".
template <class Range, class Text>
std::string joined(const Range& range, Text&& text) {
  std::string all;
  for (const auto& value : range) all += (all.empty() ? "" : ",") + text(value);
  return all;
}

inline double in_mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace precast::timing
