// Names as CMake hands them over: one text with commas between.
#pragma once

#include <cstddef>
#include <string_view>

namespace precast::detail {

/// Whether a list, "f32,bf16", holds a name.
constexpr bool list_holds(std::string_view list, std::string_view name) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace precast::detail
