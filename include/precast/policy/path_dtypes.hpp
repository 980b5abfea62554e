// PathDtypes: the precisions that the reference pipeline is compiled for, and their names.
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

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>

namespace precast {

/// The precisions that the reference pipeline is compiled for, in the order in which texts name them. This is
/// the one list: names, paths, instances, the command line and CMake follow from it.
using PathDtypes = std::tuple<f32, bf16, f16>;

/// An index into that list. Values from first_added_precision on are not indices: each stands for a preset
/// that a program adds, whose dtypes only its registration knows (families/presets.hpp of the pipeline).
enum class Precision : std::uint8_t {};
inline constexpr std::size_t first_added_precision = 128;
static_assert(std::tuple_size_v<PathDtypes> <= first_added_precision);

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

/// Whether a precision is an index into the list.
constexpr bool is_path_precision(Precision precision) {
  return static_cast<std::size_t>(precision) < all_precisions.size();
}

/// Its index in the list. Throws Error for a precision that is not in it.
constexpr std::size_t place_in_path_dtypes(Precision precision) {
  const auto place = static_cast<std::size_t>(precision);
  if (!is_path_precision(precision))
    throw Error("precision " + std::to_string(place) + " is not one of PathDtypes (from " +
                std::to_string(first_added_precision) +
                " on it stands for an added preset): ask is_path_precision first");
  return place;
}

/// The name of its dtype. Throws as place_in_path_dtypes does.
constexpr std::string_view to_string(Precision precision) {
  return precision_names[place_in_path_dtypes(precision)];
}

/// Bytes of a value. Throws as place_in_path_dtypes does.
constexpr std::size_t bytes_of(Precision precision) {
  return detail::sizes_in(detail::path_dtypes)[place_in_path_dtypes(precision)];
}

/// The precision of that name, or nothing.
constexpr std::optional<Precision> precision_named(std::string_view name) {
  std::optional<Precision> found;  // no return in the loop: nvcc 12.0 does not take it for a constant
  for (const Precision precision : all_precisions)
    if (to_string(precision) == name) found = precision;
  return found;
}

}  // namespace precast
