// PolicyPath: a choice as a type, with the policy that it names; and the names of paths, by which a build
// lists them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <precast/policy/choice.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

namespace detail {

template <bool UpcastAttention, bool UpcastMatmul>
struct UpcastFor {
  using type = Upcast<>;
};
template <>
struct UpcastFor<true, false> {
  using type = Upcast<Attention>;
};
template <>
struct UpcastFor<false, true> {
  using type = Upcast<Matmul>;
};
template <>
struct UpcastFor<true, true> {
  using type = Upcast<Attention, Matmul>;
};

template <bool UsesFlash, class StorageOption, class UpcastOption>
struct PolicyFor {
  using type = Policy<StorageOption, UpcastOption>;
};
template <class StorageOption, class UpcastOption>
struct PolicyFor<true, StorageOption, UpcastOption> {
  using type = Policy<StorageOption, UpcastOption, Flash>;
};

}  // namespace detail

/// A choice as a type, with the policy that it names: upcasts of f32, which would change nothing, are left
/// out.
template <Precision P, bool UsesFlash, bool UpcastAttention, bool UpcastMatmul>
struct PolicyPath {
  static constexpr PolicyChoice choice{P, UsesFlash, UpcastAttention, UpcastMatmul};
  using policy =
      typename detail::PolicyFor<UsesFlash, Storage<precision_type<P>>,
                                 typename detail::UpcastFor<choice.normalised().upcast_attention,
                                                            choice.normalised().upcast_matmul>::type>::type;
};

/// Calls `visitor` with each choice that is a path, whether this build holds it or not: every precision, with
/// and without flash and each upcast that changes something.
template <class Visitor>
constexpr void for_each_choice(Visitor&& visitor) {
  for (const Precision precision : all_precisions)
    for (const bool flash : {false, true})
      for (const bool attention : {false, true})
        for (const bool matmul : {false, true})
          if (const PolicyChoice choice{precision, flash, attention, matmul}; choice == choice.normalised())
            visitor(choice);
}

/// Calls `put` with the parts of a path's name: "bf16_upcast_attention_flash" is that of
/// Policy<Storage<bf16>, Upcast<Attention>, Flash>.
template <class Put>
constexpr void spell_path(const PolicyChoice& choice, Put&& put) {
  put(to_string(choice.precision));
  if (choice.upcast_matmul) put(std::string_view("_upcast_matmul"));
  if (choice.upcast_attention) put(std::string_view("_upcast_attention"));
  if (choice.flash) put(std::string_view("_flash"));
}

/// The choice of the path of that name, or nothing.
constexpr std::optional<PolicyChoice> path_named(std::string_view name) {
  std::optional<PolicyChoice> found;
  for_each_choice([&](const PolicyChoice& choice) {
    std::string_view rest = name;
    bool fits = true;
    spell_path(choice, [&](std::string_view part) {
      fits = fits && rest.starts_with(part);
      if (fits) rest.remove_prefix(part.size());
    });
    if (fits && rest.empty()) found = choice;
  });
  return found;
}

/// A string literal as a template argument.
template <std::size_t Size>
struct Literal {
  char characters[Size]{};
  consteval Literal(const char (&text)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) characters[i] = text[i];
  }
  constexpr std::string_view view() const { return {characters, Size - 1}; }
};

namespace detail {

template <Literal Name>
consteval auto policy_of_path() {
  constexpr std::optional<PolicyChoice> choice = path_named(Name.view());
  static_assert(choice.has_value(), "policy_named: no precision path has this name.");
  if constexpr (choice)
    return typename PolicyPath<choice->precision, choice->flash, choice->upcast_attention,
                               choice->upcast_matmul>::policy{};
}

}  // namespace detail

/// The policy of a path: policy_named<"bf16_flash"> is Policy<Storage<bf16>, Flash>.
template <Literal Name>
using policy_named = decltype(detail::policy_of_path<Name>());

}  // namespace precast
