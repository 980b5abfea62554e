// Vectors of f32 and i32 lanes as compilers have them (vector_size), and the roundings of rounding.hpp for
// each lane. Algorithms of this folder are written on them once, for any width.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/vector_register.hpp>
#include <precast/quant/exact_arithmetic.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

using host::detail::VectorOf;

/// The number of f32 lanes in a register of the target.
inline constexpr int native_lanes = host::detail::register_bytes / static_cast<int>(sizeof(f32));

template <int lanes>
using Floats = typename VectorOf<f32, lanes>::type;
/// Also the type of comparisons of Floats: -1 where true, 0 where false.
template <int lanes>
using Integers = typename VectorOf<std::int32_t, lanes>::type;
template <int lanes>
using Bytes = typename VectorOf<std::uint8_t, lanes>::type;

/// `count` values in as many lanes as there are in a register, and no more than there are values.
template <int count>
inline constexpr int lanes_for = count < native_lanes ? count : native_lanes;

template <class V>
inline constexpr int lanes_of = static_cast<int>(sizeof(V) / sizeof(f32));
template <class F>
using IntegersOf = Integers<lanes_of<F>>;

template <class V, class T>
[[gnu::always_inline]] inline V load(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
template <class V, class T>
[[gnu::always_inline]] inline void store(V value, T* to) {
  std::memcpy(to, &value, sizeof(value));
}
/// A vector whose lanes are all equal.
template <class V, class T>
[[gnu::always_inline]] inline V every(T value) {
  return value - V{};
}
template <class F>
[[gnu::always_inline]] inline F magnitude(F value) {
  return reinterpret_cast<F>(reinterpret_cast<IntegersOf<F>>(value) & 0x7fffffff);
}
template <class I>
[[gnu::always_inline]] inline auto to_floats(I value) {
  return __builtin_convertvector(value, Floats<lanes_of<I>>);
}
/// Codes of a byte each, written one after the other.
template <class I>
[[gnu::always_inline]] inline void store_bytes(I codes, void* to) {
  store(__builtin_convertvector(codes, Bytes<lanes_of<I>>), static_cast<std::uint8_t*>(to));
}

/// The larger and the smaller of two, lane by lane. Not templates, which g++ 12 compiles to two
/// instructions each.
#define PRECAST_LARGER_AND_SMALLER(lanes)                                                       \
  [[gnu::always_inline]] inline Integers<lanes> larger(Integers<lanes> a, Integers<lanes> b) {  \
    return a > b ? a : b;                                                                       \
  }                                                                                             \
  [[gnu::always_inline]] inline Integers<lanes> smaller(Integers<lanes> a, Integers<lanes> b) { \
    return a < b ? a : b;                                                                       \
  }
PRECAST_LARGER_AND_SMALLER(4)
#if defined(__AVX2__)
PRECAST_LARGER_AND_SMALLER(8)
#endif
#if defined(__AVX512F__)
PRECAST_LARGER_AND_SMALLER(16)
#endif
#undef PRECAST_LARGER_AND_SMALLER

/// Reduces all lanes with combine(lane, other lane), in an unspecified order.
template <class T, class V, class Combine>
[[gnu::always_inline]] inline T over_lanes(V value, Combine combine) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(T));
  if constexpr (lanes == 2) {
    return combine(value[0], value[1]);
  } else {
    using Half = typename VectorOf<T, lanes / 2>::type;
    const T* const from = reinterpret_cast<const T*>(&value);
    return over_lanes<T>(combine(load<Half>(from), load<Half>(from + lanes / 2)), combine);
  }
}
struct Larger {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return a > b ? a : b;
  }
};
struct Either {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return a | b;
  }
};

/// The largest magnitude of `count` values.
template <int count>
f32 largest_magnitude(const f32* values) {
  using F = Floats<lanes_for<count>>;
  F largest = {};
  for (int i = 0; i < count; i += lanes_of<F>) largest = Larger{}(largest, magnitude(load<F>(values + i)));
  return over_lanes<f32>(largest, Larger{});
}

/// The first of the values with the largest magnitude, as extreme() in rounding.hpp.
template <int count>
f32 extreme_in_lanes(const f32* values) {
  using F = Floats<lanes_for<count>>;
  F least = load<F>(values), most = least;
  for (int i = lanes_of<F>; i < count; i += lanes_of<F>) {
    const F these = load<F>(values + i);
    least = least < these ? least : these;
    most = Larger{}(most, these);
  }
  const f32 below = over_lanes<f32>(-least, Larger{}), above = over_lanes<f32>(most, Larger{});
  if (below == above) return extreme<count>(values);
  return below > above ? -below : above;
}

/// Whether any lane of a comparison is true.
template <class I>
[[gnu::always_inline]] inline bool any(I mask) {
  return over_lanes<std::int32_t>(mask, Either{}) != 0;
}

}  // namespace detail

template <class F>
  requires(!std::is_arithmetic_v<F>)
[[gnu::always_inline]] inline detail::IntegersOf<F> nearest_even(F value) {
  return (reinterpret_cast<detail::IntegersOf<F>>(value + 12582912.f) & 0x007fffff) - 0x00400000;
}

template <class I>
  requires(!std::is_arithmetic_v<I>)
[[gnu::always_inline]] inline I clamped(I value, int least, int most) {
  return detail::smaller(detail::larger(value, detail::every<I>(least)), detail::every<I>(most));
}

template <class F>
  requires(!std::is_arithmetic_v<F>)
[[gnu::always_inline]] inline detail::IntegersOf<F> truncated(F value, int least, int most) {
  const F low = detail::every<F>(static_cast<f32>(least)), high = detail::every<F>(static_cast<f32>(most));
  value = value > low ? value : low;
  value = value < high ? value : high;
  return __builtin_convertvector(value, detail::IntegersOf<F>);
}

template <class F>
  requires(!std::is_arithmetic_v<F>)
[[gnu::always_inline]] inline detail::IntegersOf<F> nearest_away(F value, int least, int most) {
  const detail::IntegersOf<F> whole = truncated(value, least, most);
  const F rest = value - detail::to_floats(whole);  // exact where the value is in range
  return clamped(whole - (rest >= 0.5f) + (rest <= -0.5f), least, most);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
