// The options in a policy's name, "+upcast-attention+flash": how they are written and read.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <precast/policy/choice.hpp>

namespace precast {

/// Calls `put` with the parts of what a policy's name says after its first word: "+upcast-attention+flash".
template <class Put>
constexpr void spell_options(const PolicyChoice& choice, Put&& put) {
  for (const ChoiceCast& cast : choice_casts)
    if (choice.*cast.wanted) {
      put(std::string_view("+upcast-"));
      put(cast.name);
    }
  if (choice.flash) put(std::string_view("+flash"));
}

/// An option that does not fit into a policy's name.
struct UnfitOption {
  std::string_view option;   ///< without its +
  std::string_view earlier;  ///< the one before that it repeats or contradicts; empty where it is no option
};

/// A choice with a name's options, up to the first that does not fit, if any.
struct ChoiceRead {
  PolicyChoice choice;
  std::optional<UnfitOption> unfit;
};

/// Adds to a choice what a policy's name says after its first word: any of +upcast-attention, +upcast-matmul,
/// +upcast-conv, and +flash or +no-flash, each once.
constexpr ChoiceRead read_options(std::string_view name, const PolicyChoice& choice) {
  ChoiceRead read{choice, {}};
  constexpr std::string_view upcast = "upcast-";
  constexpr std::size_t casts = choice_casts.size();
  std::array<std::string_view, casts + 1> given{};  // by cast, and that of flash
  std::size_t end = name.find('+');
  while (end != name.npos && !read.unfit) {
    const std::size_t begin = end + 1;
    end = name.find('+', begin);
    const std::string_view option = name.substr(begin, end == name.npos ? end : end - begin);
    const bool of_flash = option == "flash" || option == "no-flash";
    std::size_t kind = of_flash ? casts : 0;
    while (kind < casts &&
           !(option.starts_with(upcast) && option.substr(upcast.size()) == choice_casts[kind].name))
      ++kind;
    if (kind == casts && !of_flash) {
      read.unfit = UnfitOption{option, {}};
    } else if (!given[kind].empty()) {
      read.unfit = UnfitOption{option, given[kind]};
    } else {
      given[kind] = option;
      (of_flash ? read.choice.flash : read.choice.*choice_casts[kind].wanted) = option != "no-flash";
    }
  }
  return read;
}

}  // namespace precast
