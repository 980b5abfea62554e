// Registers of AVX-512 as arrays of their values: loads, stores and constants.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <immintrin.h>

namespace precast::testing::avx512 {

/// A register as so many T, and back.
template <class T, class Register>
struct As {
  static constexpr int count = static_cast<int>(sizeof(Register) / sizeof(T));
  T values[count];

  As() = default;
  explicit As(const Register& bits) { std::memcpy(values, &bits, sizeof bits); }
  Register bits() const {
    Register result;
    std::memcpy(&result, values, sizeof result);
    return result;
  }
  T& operator[](int i) { return values[i]; }
  const T& operator[](int i) const { return values[i]; }
};
using F32 = As<float, __m512>;
using I32 = As<std::uint32_t, __m512i>;
using I16 = As<std::uint16_t, __m512i>;
using I8 = As<std::uint8_t, __m512i>;

inline bool bit(std::uint64_t mask, int i) { return (mask >> i & 1) != 0; }

/// result[i] = f(i), or 0 where the mask has no bit.
template <class Array, class F>
auto each(std::uint64_t mask, F&& f) {
  Array result{};
  for (int i = 0; i < Array::count; ++i)
    if (bit(mask, i)) result[i] = static_cast<std::decay_t<decltype(result[i])>>(f(i));
  return result.bits();
}
template <class Array, class F>
auto each(F&& f) {
  return each<Array>(~std::uint64_t{0}, std::forward<F>(f));
}

/// The mask of the 16 places where `holds(i)`.
template <class F>
__mmask16 mask_where(F&& holds) {
  __mmask16 mask = 0;
  for (int i = 0; i < 16; ++i)
    if (holds(i)) mask |= static_cast<__mmask16>(1u << i);
  return mask;
}

template <class Register>
Register loaded(const void* from) {
  Register result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

inline __m512i loadu_si512(const void* from) { return loaded<__m512i>(from); }
inline __m512 loadu_ps(const void* from) { return loaded<__m512>(from); }
inline __m512 load_ps(const void* from) { return loaded<__m512>(from); }
inline void storeu_ps(void* to, __m512 a) { std::memcpy(to, &a, sizeof a); }
inline __m512 setzero_ps() { return F32{}.bits(); }
inline __m512 set1_ps(float x) {
  return each<F32>([&](int) { return x; });
}
inline __m512i set1_epi32(int x) {
  return each<I32>([&](int) { return x; });
}
/// A register whose first values are another's, and whose rest is zeros.
template <class Register, class Part>
Register widened(const Part& part) {
  Register result{};
  std::memcpy(&result, &part, sizeof part);
  return result;
}
inline __m512i castsi256_si512(__m256i a) { return widened<__m512i>(a); }
inline __m512 castps256_ps512(__m256 a) { return widened<__m512>(a); }
inline __m512 castps128_ps512(__m128 a) { return widened<__m512>(a); }

}  // namespace precast::testing::avx512
