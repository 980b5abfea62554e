// Which precision paths this build holds, as the CMake options PRECAST_PRECISIONS and PRECAST_PRESET decided.
#pragma once

#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/policy/choice.hpp>

// Without CMake, as in a project that only includes headers, every path is there.
#ifndef PRECAST_HAS_F32
#define PRECAST_HAS_F32 1
#endif
#ifndef PRECAST_HAS_BF16
#define PRECAST_HAS_BF16 1
#endif
#ifndef PRECAST_HAS_F16
#define PRECAST_HAS_F16 1
#endif
#ifndef PRECAST_PRESET_NAME
#define PRECAST_PRESET_NAME "all"
#endif

namespace precast {

/// The value of PRECAST_PRESET: "all", or the one preset that is compiled in.
inline constexpr std::string_view compiled_preset = PRECAST_PRESET_NAME;
static_assert(compiled_preset == "all" || preset_named(compiled_preset),
              "PRECAST_PRESET is none of all, quality, balanced, fast or memory.");

/// Whether PRECAST_PRECISIONS holds a precision.
constexpr bool precision_compiled(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return PRECAST_HAS_F32;
    case Precision::bf16:
      return PRECAST_HAS_BF16;
    case Precision::f16:
      return PRECAST_HAS_F16;
  }
  return false;
}

/// Whether this build holds the path of a choice.
constexpr bool path_compiled(const PolicyChoice& choice) {
  if (compiled_preset != "all")
    return choice.normalised() == preset_named(compiled_preset)->choice.normalised();
  return precision_compiled(choice.precision);
}

/// Throws PathNotCompiled, naming the option to turn on, where this build lacks the path of a choice.
inline void require_path(const PolicyChoice& choice) {
  if (path_compiled(choice)) return;
  const std::string wanted(to_string(choice.precision));
  if (compiled_preset != "all")
    throw PathNotCompiled(to_string(choice) + " is not in this build, which holds the preset " +
                          std::string(compiled_preset) + " alone: configure with -DPRECAST_PRESET=all" +
                          (precision_compiled(choice.precision) ? "" : " -DPRECAST_PRECISIONS=" + wanted));
  throw PathNotCompiled(to_string(choice) + " is not in this build: configure with -DPRECAST_PRECISIONS=" +
                        wanted + " (or a list that holds it)");
}

}  // namespace precast
