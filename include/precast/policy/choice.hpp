// PolicyChoice: a policy as a user names it at run time, before the visitor turns it into a type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <precast/policy/policy.hpp>

namespace precast {

/// The precisions that the reference pipeline is compiled for, in the order in which texts name them. This is
/// the one list: names, paths, instances, the command line and CMake follow from it.
using PathDtypes = std::tuple<f32, bf16, f16>;

/// A place in that list.
enum class Precision : std::uint8_t {};

namespace detail {

template <class T, class... Dtypes>
consteval std::size_t place_in(const std::tuple<Dtypes...>*) {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<T, Dtypes> ? true : (++place, false)) || ...));
  return place;
}
template <class T, class... Dtypes>
consteval bool is_in(const std::tuple<Dtypes...>*) {
  return (std::is_same_v<T, Dtypes> || ...);
}
template <class... Dtypes>
consteval auto names_in(const std::tuple<Dtypes...>*) {
  return std::array<std::string_view, sizeof...(Dtypes)>{dtype_traits<Dtypes>::name...};
}
template <class... Dtypes>
consteval auto sizes_in(const std::tuple<Dtypes...>*) {
  return std::array<std::size_t, sizeof...(Dtypes)>{sizeof(Dtypes)...};
}
template <std::size_t... I>
consteval auto precisions_at(std::index_sequence<I...>) {
  return std::array<Precision, sizeof...(I)>{static_cast<Precision>(I)...};
}

inline constexpr const PathDtypes* path_dtypes = nullptr;

}  // namespace detail

/// A dtype of that list.
template <class T>
concept PathDtype = detail::is_in<T>(detail::path_dtypes);

/// The precision of a dtype, and the dtype of a precision.
template <PathDtype T>
inline constexpr Precision precision_of = static_cast<Precision>(detail::place_in<T>(detail::path_dtypes));
template <Precision P>
using precision_type = std::tuple_element_t<static_cast<std::size_t>(P), PathDtypes>;

/// Every precision, in the order of the list.
inline constexpr std::array all_precisions =
    detail::precisions_at(std::make_index_sequence<std::tuple_size_v<PathDtypes>>());
/// Their names, in the same order.
inline constexpr std::array precision_names = detail::names_in(detail::path_dtypes);

constexpr std::string_view to_string(Precision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}

/// Bytes of a value.
constexpr std::size_t bytes_of(Precision precision) {
  return detail::sizes_in(detail::path_dtypes)[static_cast<std::size_t>(precision)];
}

/// The precision of that name, or nothing.
constexpr std::optional<Precision> precision_named(std::string_view name) {
  std::optional<Precision> found;  // not returned out of the loop, which nvcc 12.0 takes for no constant
  for (const Precision precision : all_precisions)
    if (to_string(precision) == name) found = precision;
  return found;
}

/// What the command line can ask of one component.
struct PolicyChoice {
  Precision precision = precision_of<f32>;
  bool flash = false;
  bool upcast_attention = false;
  bool upcast_matmul = false;
  bool upcast_conv = false;

  friend constexpr bool operator==(const PolicyChoice&, const PolicyChoice&) = default;

  /// The same choice without options that change nothing: f32 has nothing to cast up to.
  constexpr PolicyChoice normalised() const {
    if (precision == precision_of<f32>) return {.precision = precision, .flash = flash};
    return *this;
  }
  /// The same choice for a part of a model that has no convolutions.
  constexpr PolicyChoice without_upcast_conv() const {
    PolicyChoice without = *this;
    without.upcast_conv = false;
    return without;
  }
};

/// An op class that a choice can cast up.
struct ChoiceCast {
  bool PolicyChoice::*wanted;
  std::string_view name;  ///< in options and paths: "attention"
  std::string_view op;    ///< "Attention"
};

/// All of them, in the order in which texts name them.
inline constexpr std::array choice_casts{
    ChoiceCast{&PolicyChoice::upcast_attention, "attention", Attention::name},
    ChoiceCast{&PolicyChoice::upcast_matmul, "matmul", Matmul::name},
    ChoiceCast{&PolicyChoice::upcast_conv, "conv", Conv::name}};

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

/// The path that does what a choice asks for, and least besides. Convolutions are cast up alone, or with both
/// attention and linear layers: with one of these, the other is added. All other choices are paths.
constexpr PolicyChoice nearest_path(const PolicyChoice& choice) {
  PolicyChoice path = choice.normalised();
  if (path.upcast_conv)
    path.upcast_attention = path.upcast_matmul = path.upcast_attention || path.upcast_matmul;
  return path;
}

/// Whether a choice, without options that change nothing, is a path that a build can hold.
constexpr bool is_path(const PolicyChoice& choice) { return nearest_path(choice) == choice.normalised(); }

/// "Policy<Storage<bf16>, Upcast<Attention>, Flash>": the C++ spelling of a choice.
inline std::string to_string(const PolicyChoice& choice) {
  std::string text = "Policy<Storage<" + std::string(to_string(choice.precision)) + ">";
  std::string casts;
  detail::for_each_cast([&](auto, const ChoiceCast& cast) {
    if (choice.*cast.wanted) casts.append(casts.empty() ? "" : ", ").append(cast.op);
  });
  if (!casts.empty()) text += ", Upcast<" + casts + ">";
  return text + (choice.flash ? ", Flash>" : ">");
}

/// Whether a policy is what a choice can say: one dtype for storage and compute, with the activations that go
/// with it, and flash and upcasts of Attention, Matmul and Conv alone.
template <PolicyType P>
consteval bool in_one_precision() {
  using T = typename P::compute;
  return std::is_same_v<typename P::storage, T> &&
         std::is_same_v<typename P::activation, activation_for<T>> &&
         std::is_same_v<typename P::accumulate, f32> && !P::saturate &&
         !P::template casts_others<Attention, Matmul, Conv> && !P::template downcasts<Attention> &&
         !P::template downcasts<Matmul> && !P::template downcasts<Conv>;
}

/// The choice that names a policy. Only policies that the command line can name have one: in one precision of
/// PathDtypes.
template <PolicyType P>
constexpr PolicyChoice choice_of() {
  using T = typename P::storage;
  static_assert(in_one_precision<P>() && PathDtype<T>,
                "The pipeline is compiled for policies of one precision of PathDtypes, with Flash and "
                "Upcast<Attention, Matmul, Conv>.");
  PolicyChoice choice{.precision = precision_of<T>, .flash = P::flash};
  detail::for_each_cast(
      [&]<class Op>(Op, const ChoiceCast& cast) { choice.*cast.wanted = P::template upcasts<Op>; });
  return choice;
}

}  // namespace precast
