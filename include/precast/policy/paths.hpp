// Which precision paths this build holds, as the CMake options PRECAST_PRECISIONS and PRECAST_PRESET decided.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/policy/choice.hpp>
#include <precast/policy/name_list.hpp>
#include <precast/policy/presets.hpp>

// Without CMake, as in a project that only includes headers, every path is there.
#ifndef PRECAST_PRESET_NAME
#define PRECAST_PRESET_NAME "all"
#endif

namespace precast {

/// The value of PRECAST_PRESET: "all", or the one preset that is compiled in.
inline constexpr std::string_view compiled_preset = PRECAST_PRESET_NAME;
static_assert(compiled_preset == "all" || preset_named(compiled_preset),
              "PRECAST_PRESET is neither all nor a preset of policy/presets.hpp.");

/// Whether PRECAST_PRECISIONS holds a precision.
constexpr bool precision_compiled([[maybe_unused]] Precision precision) {
#ifdef PRECAST_PRECISION_NAMES
  return detail::list_holds(PRECAST_PRECISION_NAMES, to_string(precision));
#else
  return true;
#endif
}

/// Whether this build holds the path of a choice.
constexpr bool path_compiled(const PolicyChoice& choice) {
  if (compiled_preset != "all")
    return choice.normalised() == preset_named(compiled_preset)->choice.normalised();
  return is_path(choice) && precision_compiled(choice.precision);
}

/// Throws PathNotCompiled where this build lacks the path of a choice: names the option to turn on, or the
/// nearest path where no build has it.
inline void require_path(const PolicyChoice& choice) {
  if (path_compiled(choice)) return;
  if (!is_path(choice))
    throw PathNotCompiled(to_string(choice) +
                          " is not a path of any build: convolutions are upcast alone, or together with "
                          "attention and linear layers; the nearest is " +
                          to_string(nearest_path(choice)));
  const std::string wanted(to_string(choice.precision));
  if (compiled_preset != "all")
    throw PathNotCompiled(to_string(choice) + " is not in this build, which holds the preset " +
                          std::string(compiled_preset) + " alone: configure with -DPRECAST_PRESET=all" +
                          (precision_compiled(choice.precision) ? "" : " -DPRECAST_PRECISIONS=" + wanted));
  throw PathNotCompiled(to_string(choice) + " is not in this build: configure with -DPRECAST_PRECISIONS=" +
                        wanted + " (or a list that holds it)");
}

}  // namespace precast
