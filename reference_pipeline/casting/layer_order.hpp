// LayerOrder: the natural order of layer names.
#pragma once

#include <algorithm>
#include <string_view>

namespace precast::casting {

/// Compares names, numbers in them as numbers: "blocks.2" comes before "blocks.10".
struct LayerOrder {
  using is_transparent = void;

  bool operator()(std::string_view a, std::string_view b) const {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto number_at = [&](std::string_view text, std::size_t at) {
      std::size_t end = at;
      while (end < text.size() && is_digit(text[end])) ++end;
      return text.substr(at, end - at);
    };
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
      if (!is_digit(a[i]) || !is_digit(b[j])) {
        if (a[i] != b[j]) return a[i] < b[j];
        ++i, ++j;
        continue;
      }
      const std::string_view left = number_at(a, i), right = number_at(b, j);
      i += left.size(), j += right.size();
      const auto digits = [](std::string_view number) {
        return number.substr(std::min(number.find_first_not_of('0'), number.size()));
      };
      if (digits(left).size() != digits(right).size()) return digits(left).size() < digits(right).size();
      if (digits(left) != digits(right)) return digits(left) < digits(right);
    }
    if (i < a.size() || j < b.size()) return i >= a.size();
    return a < b;  // equal but for leading zeros
  }
};

}  // namespace precast::casting
