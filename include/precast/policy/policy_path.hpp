// PolicyPath: a choice as a type, with the policy that it names; and the names of paths, by which a build
// lists them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <precast/policy/choice.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

namespace detail {

template <class... Casts>
struct JoinedUpcasts;
template <class... Ops>
struct JoinedUpcasts<Upcast<Ops...>> {
  using type = Upcast<Ops...>;
};
template <class... Ops, class... Others, class... Rest>
struct JoinedUpcasts<Upcast<Ops...>, Upcast<Others...>, Rest...>
    : JoinedUpcasts<Upcast<Ops..., Others...>, Rest...> {};

template <OpClass Op>
constexpr bool casts_up(const ChoiceOptions& options) {
  bool up = false;
  for (const ChoiceCast& cast : choice_casts) up = up || (cast.op == Op::name && options.*cast.wanted);
  return up;
}
template <ChoiceOptions Options, class Classes>
struct UpcastsOf;
template <ChoiceOptions Options, class... Ops>
struct UpcastsOf<Options, OpClasses<Ops...>>
    : JoinedUpcasts<std::conditional_t<casts_up<Ops>(Options), Upcast<Ops>, Upcast<>>...> {};
template <ChoiceOptions Options>
using UpcastFor = typename UpcastsOf<Options, AllOpClasses>::type;

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
template <PolicyChoice Choice>
struct PolicyPath {
  static constexpr PolicyChoice choice = Choice;

 private:
  static constexpr PolicyChoice used = Choice.normalised();

 public:
  using policy = typename detail::PolicyFor<used.options.flash, Storage<precision_type<used.precision>>,
                                            detail::UpcastFor<used.options>>::type;
};

/// Calls `visitor` with each choice that is a path, whether this build holds it or not: every precision, with
/// and without flash and each upcast of attention and linear layers that changes something; then those that
/// cast convolutions up.
template <class Visitor>
constexpr void for_each_choice(Visitor&& visitor) {
  for (const bool conv : {false, true})
    for (const Precision precision : all_precisions)
      for (const bool flash : {false, true})
        for (const bool attention : {false, true})
          for (const bool matmul : {false, true})
            if (const PolicyChoice choice{.precision = precision,
                                          .options = {.flash = flash,
                                                      .upcast_attention = attention,
                                                      .upcast_matmul = matmul,
                                                      .upcast_conv = conv}};
                nearest_path(choice) == choice)
              visitor(choice);
}

/// The choices that are paths and that `wanted` holds for, in the order of for_each_choice. `wanted` is a
/// value of a type without state, so that the array's size is known.
template <class Wanted>
consteval auto choices_where(Wanted) {
  constexpr std::size_t number = [] {
    std::size_t count = 0;
    for_each_choice([&](const PolicyChoice& choice) { count += Wanted{}(choice) ? 1 : 0; });
    return count;
  }();
  std::array<PolicyChoice, number> choices{};
  std::size_t at = 0;
  for_each_choice([&](const PolicyChoice& choice) {
    if (Wanted{}(choice)) choices[at++] = choice;
  });
  return choices;
}

/// A policy of a path without its Upcast<Conv>: that of the parts of a model that have no convolutions.
template <PolicyType P>
using WithoutUpcastConv = typename PolicyPath<choice_of<P>().without_upcast_conv()>::policy;

/// Calls `put` with the parts of a path's name: "bf16_upcast_attention_flash" is that of
/// Policy<Storage<bf16>, Upcast<Attention>, Flash>.
template <class Put>
constexpr void spell_path(const PolicyChoice& choice, Put&& put) {
  put(to_string(choice.precision));
  detail::for_each_cast([&](auto, const ChoiceCast& cast) {
    if (!(choice.options.*cast.wanted)) return;
    put(std::string_view("_upcast_"));
    put(cast.name);
  });
  if (choice.options.flash) put(std::string_view("_flash"));
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
  consteval Literal(const char (&text)[Size]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < Size; ++i) characters[i] = text[i];
  }
  constexpr std::string_view view() const { return {characters, Size - 1}; }
};

namespace detail {

template <Literal Name>
consteval auto policy_of_path() {
  constexpr std::optional<PolicyChoice> choice = path_named(Name.view());
  static_assert(choice.has_value(), "policy_named: no precision path has this name.");
  if constexpr (choice) return typename PolicyPath<*choice>::policy{};
}

}  // namespace detail

/// The policy of a path: policy_named<"bf16_flash"> is Policy<Storage<bf16>, Flash>.
template <Literal Name>
using policy_named = decltype(detail::policy_of_path<Name>());

}  // namespace precast
