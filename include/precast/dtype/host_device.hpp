// The macros that declare functions for both sides of a CUDA program, and replacements for functions of the
// standard library that device code cannot call: users compile these headers without nvcc's experimental
// flags.
#pragma once

// nvcc and g++ default to an older standard: this message replaces a hundred errors below.
#if __cplusplus <= 201703L
#error "Precast needs C++20: compile with -std=c++20"
#endif

#if defined(__CUDACC__)
/// A small function that both backends call, inlined wherever it stands.
#define PRECAST_HOST_DEVICE __host__ __device__ __forceinline__
/// The same for functions that constant expressions use too.
#define PRECAST_HOST_DEVICE_CONSTEXPR __host__ __device__ constexpr
#else
// Always inlined on the host: a call that the compiler keeps in a large file prevents the vectorisation of
// its loop, at 20 times the time.
#define PRECAST_HOST_DEVICE inline __attribute__((always_inline))
#define PRECAST_HOST_DEVICE_CONSTEXPR constexpr
#endif

namespace precast {

/// The value of type To with the bits of another of its size.
template <class To, class From>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "bit_cast: both types have one size.");
  return __builtin_bit_cast(To, from);
}

/// value / by, rounded up. `value` is not negative.
template <class Value, class By>
PRECAST_HOST_DEVICE_CONSTEXPR auto ceil_divide(Value value, By by) {
  return (value + by - 1) / by;
}

/// The lesser of two values.
template <class T>
PRECAST_HOST_DEVICE_CONSTEXPR T min_of(T a, T b) {
  return b < a ? b : a;
}
/// The greater of two values.
template <class T>
PRECAST_HOST_DEVICE_CONSTEXPR T max_of(T a, T b) {
  return a < b ? b : a;
}
/// One of two values of four bytes, on a host by a mask: compilers may turn a condition into a branch,
/// which prevents vectorisation.
template <class T>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR T select(bool condition, T yes, T no) {
#if defined(__CUDA_ARCH__)
  return condition ? yes : no;
#else
  const unsigned mask = -static_cast<unsigned>(condition);
  return bit_cast<T>((bit_cast<unsigned>(yes) & mask) | (bit_cast<unsigned>(no) & ~mask));
#endif
}

}  // namespace precast
