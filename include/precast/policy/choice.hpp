// PolicyChoice: a policy as a user names it at run time, before the visitor turns it into a type.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <precast/policy/policy.hpp>

namespace precast {

/// The precisions that the reference pipeline is compiled for.
enum class Precision : std::uint8_t { f32, bf16, f16 };
inline constexpr std::array all_precisions{Precision::f32, Precision::bf16, Precision::f16};

constexpr std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return dtype_traits<f32>::name;
    case Precision::bf16:
      return dtype_traits<bf16>::name;
    case Precision::f16:
      return dtype_traits<f16>::name;
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

/// The choice that names a policy. Only policies that the command line can name have one: a precision for
/// storage, compute and activations, and upcasts of Attention and Matmul.
template <PolicyType P>
constexpr PolicyChoice choice_of() {
  using T = typename P::storage;
  constexpr bool plain = std::is_same_v<T, typename P::compute> &&
                         std::is_same_v<T, typename P::activation> &&
                         std::is_same_v<typename P::accumulate, f32> && !P::saturate &&
                         !P::template casts_others<Attention, Matmul> && !P::template downcasts<Attention> &&
                         !P::template downcasts<Matmul>;
  constexpr bool known = std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>;
  static_assert(plain && known,
                "The pipeline is compiled for policies of one precision, f32, bf16 or f16, with Flash and "
                "Upcast<Attention, Matmul>.");
  constexpr Precision precision = std::is_same_v<T, f32>    ? Precision::f32
                                  : std::is_same_v<T, bf16> ? Precision::bf16
                                                            : Precision::f16;
  return PolicyChoice{precision, P::flash, P::template upcasts<Attention>, P::template upcasts<Matmul>};
}

/// A preset by name. `automatic` is not one: it chooses one of these.
struct NamedPreset {
  std::string_view name;
  PolicyChoice choice;
  std::string_view summary;
};
inline constexpr std::array named_presets{
    NamedPreset{
        "quality", {Precision::f32, false, false, false}, "f32 throughout, attention scores in memory"},
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
