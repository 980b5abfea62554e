// Comma-separated lists of names, as CMake passes them.
#pragma once

#include <cstddef>
#include <string_view>

namespace precast::detail {

/// Whether a comma-separated list, such as "f32,bf16", contains a name.
constexpr bool list_holds(std::string_view list, std::string_view name) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace precast::detail
