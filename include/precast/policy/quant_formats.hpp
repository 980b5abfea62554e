// Which block formats this build reads as they are stored, as the CMake option PRECAST_QUANT decided.
#pragma once

#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/policy/name_list.hpp>

// Without CMake, as in a project that only includes headers, every format is there.
#ifndef PRECAST_QUANT_NAMES
#define PRECAST_QUANT_NAMES "all"
#endif

namespace precast {

/// Whether PRECAST_QUANT ("all", or names with commas between) holds the block format of that name.
constexpr bool block_format_compiled(std::string_view format) {
  constexpr std::string_view names = PRECAST_QUANT_NAMES;
  return names == "all" || detail::list_holds(names, format);
}

/// Throws PathNotCompiled, naming the option to turn on, where this build lacks a block format.
inline void require_block_format(std::string_view format) {
  if (block_format_compiled(format)) return;
  throw PathNotCompiled("weights in " + std::string(format) + " are not in this build: configure with " +
                        "-DPRECAST_QUANT=" + std::string(format) +
                        " (or a list that holds it, or all, which is the default)");
}

}  // namespace precast
