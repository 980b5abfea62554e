// The options of a choice besides its precision: flash and upcasts, and how they are spelled in a policy's
// name, "+upcast-attention+flash".
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <precast/policy/op_class.hpp>

namespace precast {

/// The options besides a precision; all are off by default.
struct ChoiceOptions {
  bool flash = false;
  bool upcast_attention = false;
  bool upcast_matmul = false;
  bool upcast_conv = false;

  friend constexpr bool operator==(const ChoiceOptions&, const ChoiceOptions&) = default;
};

/// An op class that a choice can upcast.
struct ChoiceCast {
  bool ChoiceOptions::*wanted;
  std::string_view name;  ///< in options and paths: "attention"
  std::string_view op;    ///< "Attention"
};

/// All casts, in the order in which texts name them.
inline constexpr std::array choice_casts{
    ChoiceCast{&ChoiceOptions::upcast_attention, "attention", Attention::name},
    ChoiceCast{&ChoiceOptions::upcast_matmul, "matmul", Matmul::name},
    ChoiceCast{&ChoiceOptions::upcast_conv, "conv", Conv::name}};

namespace detail {

/// Calls `visitor(Op{}, cast)` for each cast in the order of the op table, which types and paths follow.
template <class Visitor>
constexpr void for_each_cast(Visitor&& visitor) {
  AllOpClasses::for_each([&]<class Op>(Op op) {
    for (const ChoiceCast& cast : choice_casts)
      if (cast.op == Op::name) visitor(op, cast);
  });
}

}  // namespace detail

/// Calls `put` with the parts of a policy's name after its first word: "+upcast-attention+flash".
template <class Put>
constexpr void spell_options(const ChoiceOptions& options, Put&& put) {
  for (const ChoiceCast& cast : choice_casts)
    if (options.*cast.wanted) {
      put(std::string_view("+upcast-"));
      put(cast.name);
    }
  if (options.flash) put(std::string_view("+flash"));
}

/// A word in a policy's name that is no option, or repeats or contradicts an earlier one.
struct InvalidOption {
  std::string_view option;   ///< without its +
  std::string_view earlier;  ///< the one before that it repeats or contradicts; empty where it is no option
};

/// The options of a name, up to the first invalid one, if any.
struct OptionsRead {
  ChoiceOptions options;
  std::optional<InvalidOption> invalid;
};

/// Adds to `options` those in a policy's name after its first word: any of +upcast-attention,
/// +upcast-matmul, +upcast-conv, and +flash or +no-flash, each once.
constexpr OptionsRead read_options(std::string_view name, const ChoiceOptions& options) {
  OptionsRead read{options, {}};
  constexpr std::string_view upcast = "upcast-";
  constexpr std::size_t casts = choice_casts.size();
  std::array<std::string_view, casts + 1> given{};  // by cast, and that of flash
  std::size_t end = name.find('+');
  while (end != name.npos && !read.invalid) {
    const std::size_t begin = end + 1;
    end = name.find('+', begin);
    const std::string_view option = name.substr(begin, end == name.npos ? end : end - begin);
    const bool of_flash = option == "flash" || option == "no-flash";
    std::size_t kind = of_flash ? casts : 0;
    while (kind < casts &&
           !(option.starts_with(upcast) && option.substr(upcast.size()) == choice_casts[kind].name))
      ++kind;
    if (kind == casts && !of_flash) {
      read.invalid = InvalidOption{option, {}};
    } else if (!given[kind].empty()) {
      read.invalid = InvalidOption{option, given[kind]};
    } else {
      given[kind] = option;
      (of_flash ? read.options.flash : read.options.*choice_casts[kind].wanted) = option != "no-flash";
    }
  }
  return read;
}

}  // namespace precast
