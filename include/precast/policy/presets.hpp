// The presets, and Mixed: a policy of its own for each component of a pipeline.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include <precast/policy/choice.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

namespace presets {
/// f32 throughout, scores in memory: the reference that the others are measured against.
using Quality = Policy<Storage<f32>>;
/// f32 with flash attention: the same digits but for the order of sums, and no score matrix in memory.
using Balanced = Policy<Storage<f32>, Flash>;
/// bf16 with flash attention.
using Fast = Policy<Storage<bf16>, Flash>;
/// f16 with attention in f32: half the memory, and scores that would overflow f16 stay finite.
using Memory = Policy<Storage<f16>, Upcast<Attention>>;
}  // namespace presets

/// A preset by name. `automatic` is not one: it chooses one of these.
struct NamedPreset {
  std::string_view name;
  PolicyChoice choice;
  std::string_view summary;
};

/// The one list of presets, in the order in which texts name them: the command line and CMake follow from it.
inline constexpr std::array named_presets{
    NamedPreset{"quality", choice_of<presets::Quality>(), "f32 throughout, attention scores in memory"},
    NamedPreset{"balanced", choice_of<presets::Balanced>(), "f32 with flash attention"},
    NamedPreset{"fast", choice_of<presets::Fast>(), "bf16 with flash attention"},
    NamedPreset{"memory", choice_of<presets::Memory>(), "f16 with attention in f32"},
};

/// The preset of that name, or nothing.
constexpr std::optional<NamedPreset> preset_named(std::string_view name) {
  std::optional<NamedPreset> found;  // no return in the loop: nvcc 12.0 does not take it for a constant
  for (const NamedPreset& preset : named_presets)
    if (preset.name == name) found = preset;
  return found;
}

/// Component options of Mixed.
template <PolicyType P>
struct Transformer {};
template <PolicyType P>
struct TextEncoder {};
template <PolicyType P>
struct Vae {};

namespace detail {
template <class P>
P pick_transformer(const Transformer<P>*);
template <class P>
P pick_text_encoder(const TextEncoder<P>*);
template <class P>
P pick_vae(const Vae<P>*);

template <class T>
inline constexpr int component_kind = 0;
template <class P>
inline constexpr int component_kind<Transformer<P>> = 1;
template <class P>
inline constexpr int component_kind<TextEncoder<P>> = 2;
template <class P>
inline constexpr int component_kind<Vae<P>> = 3;

template <class T, class E, class V>
struct CanonicalMixed {
  using transformer = T;
  using text_encoder = E;
  using vae = V;
};

template <class... Components>
consteval auto canonical_mixed() {
  constexpr bool known = ((component_kind<Components> != 0) && ...);
  static_assert(known, "Mixed: a component is not one of Transformer<P>, TextEncoder<P> or Vae<P>.");
  if constexpr (known) {
    constexpr bool each_once = sizeof...(Components) == 3 && ((component_kind<Components> == 1) || ...) &&
                               ((component_kind<Components> == 2) || ...) &&
                               ((component_kind<Components> == 3) || ...);
    static_assert(each_once, "Mixed: Transformer<P>, TextEncoder<P> and Vae<P> are each given once.");
    if constexpr (each_once) {
      constexpr const OptionSet<Components...>* set = nullptr;
      return CanonicalMixed<decltype(pick_transformer(set)), decltype(pick_text_encoder(set)),
                            decltype(pick_vae(set))>{};
    }
  }
}
}  // namespace detail

/// A policy for each component of a pipeline, in any order.
template <class... Components>
using Mixed = decltype(detail::canonical_mixed<Components...>());

}  // namespace precast
