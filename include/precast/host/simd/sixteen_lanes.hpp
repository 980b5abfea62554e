// Sixteen f32 or integers of 32 bits in as many registers as this CPU needs for them: one of AVX-512, two of
// AVX2, four of SSE.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/vector_register.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__)

using Ints16 = VectorOf<std::int32_t>::type;
using Words16 = VectorOf<std::uint32_t>::type;
using Floats16 = VectorOf<f32>::type;

template <class To, class From>
[[gnu::always_inline]] inline To same_bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(from);
}

/// Converts integers to f32.
[[gnu::always_inline]] inline Floats16 floats_of(const Ints16& integers) {
  return __builtin_convertvector(integers, Floats16);
}

[[gnu::always_inline]] inline void store(const Floats16& values, f32* to) {
  std::memcpy(to, &values, sizeof values);
}

#else

/// Sixteen T with the operators of a compiler vector: lane by lane, or with one T for all lanes.
template <class T>
struct SixteenLanes {
  using Register = typename VectorOf<T>::type;
  static constexpr int registers = 16 * sizeof(T) / register_bytes, in_register = 16 / registers;
  Register parts[registers];

  /// Lane by lane: f(register, register of `other` or the T that it is).
  template <class F, class Other>
  [[gnu::always_inline]] SixteenLanes with(F f, const Other& other) const {
    SixteenLanes result;
    for (int i = 0; i < registers; ++i) {
      if constexpr (std::is_same_v<Other, SixteenLanes>)
        result.parts[i] = f(parts[i], other.parts[i]);
      else
        result.parts[i] = f(parts[i], static_cast<T>(other));
    }
    return result;
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator+(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a + b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator-(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a - b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator*(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a * b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator&(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a & b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator|(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a | b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator<<(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a << b; }, other);
  }
  template <class Other>
  [[gnu::always_inline]] SixteenLanes operator>>(const Other& other) const {
    return with([](const auto& a, const auto& b) { return a >> b; }, other);
  }
};

using Ints16 = SixteenLanes<std::int32_t>;
using Words16 = SixteenLanes<std::uint32_t>;
using Floats16 = SixteenLanes<f32>;

template <class To, class From>
[[gnu::always_inline]] inline To same_bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  for (int i = 0; i < To::registers; ++i)
    to.parts[i] = reinterpret_cast<typename To::Register>(from.parts[i]);
  return to;
}

/// Converts integers to f32.
[[gnu::always_inline]] inline Floats16 floats_of(const Ints16& integers) {
  Floats16 numbers;
  for (int i = 0; i < Ints16::registers; ++i)
    numbers.parts[i] = __builtin_convertvector(integers.parts[i], Floats16::Register);
  return numbers;
}

/// Register by register: GCC copies larger vectors in other pieces, through memory.
[[gnu::always_inline]] inline void store(const Floats16& values, f32* to) {
  for (int i = 0; i < Floats16::registers; ++i)
    std::memcpy(to + i * Floats16::in_register, &values.parts[i], register_bytes);
}

#endif

[[gnu::always_inline]] inline Floats16 loaded_floats(const f32* from) {
  Floats16 values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

/// 0 to 15.
[[gnu::always_inline]] inline Words16 numbers_of_lanes() {
  static constexpr std::uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Words16 lanes;
  std::memcpy(&lanes, numbers, sizeof lanes);
  return lanes;
}

}  // namespace precast::host::detail
