// AttentionChoice: what attention is compiled for, as the caller's options restrict it: head widths, and
// whether there can be a bias.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include <precast/error.hpp>

namespace precast {

/// Option: only heads of these widths, `attention<P, HeadWidths<64, 128>>`. The width of a head is the
/// larger of its key and value widths.
template <int... Widths>
struct HeadWidths {
  static_assert(sizeof...(Widths) > 0 && ((Widths > 0) && ...),
                "attention: HeadWidths<...> takes one or more widths, each above 0.");
};

/// Option: no bias, `attention<P, WithoutBias>`.
struct WithoutBias {};

/// What attention is compiled for: these head widths, or all where none is named; with and without a bias,
/// or only without.
template <bool Biased, int... Widths>
struct AttentionChoice {
  static constexpr bool biased = Biased;
  /// Whether there can be heads that are wider than `above` and no wider than `most`.
  static constexpr bool has_widths(int above, int most) {
    return sizeof...(Widths) == 0 || ((above < Widths && Widths <= most) || ...);
  }
};

/// No restriction: all head widths, with and without a bias.
using EveryAttention = AttentionChoice<true>;

namespace detail {

template <class T>
inline constexpr bool is_head_widths = false;
template <int... Widths>
inline constexpr bool is_head_widths<HeadWidths<Widths...>> = true;

template <class... Options>
consteval bool chosen_once() {
  static_assert((0 + ... + is_head_widths<Options>) < 2,
                "attention: HeadWidths is given twice: name all widths in one.");
  static_assert((0 + ... + std::is_same_v<Options, WithoutBias>) < 2,
                "attention: WithoutBias is given twice.");
  return true;
}

template <bool Biased, class... Options>
struct ChosenAttention {
  using type = AttentionChoice<Biased>;
};
template <bool Biased, int... Widths, class... Rest>
struct ChosenAttention<Biased, HeadWidths<Widths...>, Rest...> {
  using type = AttentionChoice<Biased, Widths...>;
};
template <bool Biased, class... Rest>
struct ChosenAttention<Biased, WithoutBias, Rest...> : ChosenAttention<Biased, Rest...> {};

[[noreturn]] inline void head_width_is_left_out(std::int64_t width, std::initializer_list<int> chosen) {
  std::string widths;
  for (const int one : chosen) widths += (widths.empty() ? "" : ", ") + std::to_string(one);
  const std::string given = std::to_string(width);
  throw ShapeError("attention: heads of " + given + " values were left out by HeadWidths<" + widths +
                   ">: name " + given + " there too");
}
[[noreturn]] inline void bias_is_left_out() {
  throw Error("attention: a bias is given, and was left out by WithoutBias: remove that option");
}

/// Throws ShapeError for a head width, and Error for a bias, that the choice excludes.
template <bool Biased, int... Widths>
void require_chosen(AttentionChoice<Biased, Widths...>, std::int64_t width, bool has_bias) {
  if constexpr (sizeof...(Widths) > 0)
    if (((width != Widths) && ...)) head_width_is_left_out(width, {Widths...});
  if constexpr (!Biased)
    if (has_bias) bias_is_left_out();
}

}  // namespace detail

/// An option of attention, which may follow its policy in any order.
template <class T>
concept AttentionOption = detail::is_head_widths<T> || std::is_same_v<T, WithoutBias>;

/// The AttentionChoice of these options.
template <AttentionOption... Options>
  requires(detail::chosen_once<Options...>())
using chosen_attention =
    typename detail::ChosenAttention<(!std::is_same_v<Options, WithoutBias> && ...), Options...>::type;

}  // namespace precast
