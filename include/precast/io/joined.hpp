// Lists as text.
#pragma once

#include <concepts>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace precast::io {

/// All elements of a range in one text, with `between` from each to the next: "" for an empty one. `text`
/// gives an element as a string, a view, a const char* or an integer; an element that is one needs no `text`.
///
///     joined(std::array{16, 32, 64}, ", ")            // "16, 32, 64"
///     joined(named_presets, "|", &NamedPreset::name)  // "quality|balanced|fast|memory"
template <std::ranges::input_range Range, class Text = std::identity>
std::string joined(const Range& range, std::string_view between, Text&& text = {}) {
  std::string all;
  bool is_first = true;
  for (const auto& element : range) {
    if (!std::exchange(is_first, false)) all += between;
    const auto& word = std::invoke(text, element);
    if constexpr (std::is_convertible_v<decltype(word), std::string_view>) {
      all += std::string_view(word);
    } else {
      static_assert(std::integral<std::remove_cvref_t<decltype(word)>>,
                    "an element is a text or an integer: give a function that makes a text of it");
      all += std::to_string(word);
    }
  }
  return all;
}

}  // namespace precast::io
