// PolicyChoice: a policy as a user names it at run time, before the visitor turns it into a type.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <precast/policy/policy.hpp>

namespace precast {

/// The precisions that the reference pipeline is compiled for.
enum class Precision : std::uint8_t { f32, bf16, f16 };
inline constexpr std::array all_precisions{Precision::f32, Precision::bf16, Precision::f16};

constexpr std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::f32: return dtype_traits<f32>::name;
    case Precision::bf16: return dtype_traits<bf16>::name;
    case Precision::f16: return dtype_traits<f16>::name;
  }
  return {};
}

/// The precision of that name, or nothing.
constexpr std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision : all_precisions)
    if (to_string(precision) == name) return precision;
  return std::nullopt;
}

/// What the command line can ask of one component.
struct PolicyChoice {
  Precision precision = Precision::f32;
  bool flash = false;
  bool upcast_attention = false;
  bool upcast_matmul = false;

  friend constexpr bool operator==(const PolicyChoice&, const PolicyChoice&) = default;

  /// The same choice without options that change nothing: f32 has nothing to cast up to.
  constexpr PolicyChoice normalised() const {
    if (precision == Precision::f32) return {precision, flash, false, false};
    return *this;
  }
};

/// "Policy<Storage<bf16>, Upcast<Attention>, Flash>": the C++ spelling of a choice.
inline std::string to_string(const PolicyChoice& choice) {
  std::string text = "Policy<Storage<" + std::string(to_string(choice.precision)) + ">";
  if (choice.upcast_attention || choice.upcast_matmul) {
    text += ", Upcast<";
    if (choice.upcast_matmul) text += "Matmul";
    if (choice.upcast_attention) text += choice.upcast_matmul ? ", Attention" : "Attention";
    text += ">";
  }
  return text + (choice.flash ? ", Flash>" : ">");
}

/// A preset by name. `automatic` is not one: it chooses one of these.
struct NamedPreset {
  std::string_view name;
  PolicyChoice choice;
  std::string_view summary;
};
inline constexpr std::array named_presets{
    NamedPreset{"quality", {Precision::f32, false, false, false}, "f32 throughout, attention scores in memory"},
    NamedPreset{"balanced", {Precision::f32, true, false, false}, "f32 with flash attention"},
    NamedPreset{"fast", {Precision::bf16, true, false, false}, "bf16 with flash attention"},
    NamedPreset{"memory", {Precision::f16, false, true, false}, "f16 with attention in f32"},
};

/// The preset of that name, or nothing.
constexpr std::optional<NamedPreset> preset_named(std::string_view name) {
  for (const NamedPreset& preset : named_presets)
    if (preset.name == name) return preset;
  return std::nullopt;
}

}  // namespace precast
