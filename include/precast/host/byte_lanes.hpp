// Sixteen codes of a block at a time, in vectors that the compiler makes of what the CPU has: how they are
// taken apart, looked up, widened and stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__F16C__) || defined(__SSSE3__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include <precast/dtype/blocks/in_pieces.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::host::detail {

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));
using SignedBytes16 = std::int8_t __attribute__((vector_size(16)));
using Pairs8 = std::uint16_t __attribute__((vector_size(16)));
using Codes16 = std::uint16_t __attribute__((vector_size(32)));
using Ints16 = std::int32_t __attribute__((vector_size(64)));
using Words16 = std::uint32_t __attribute__((vector_size(64)));
using Floats16 = f32 __attribute__((vector_size(64)));

[[gnu::always_inline]] inline Bytes16 sixteen_bytes(const void* from) {
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

/// Each byte shifted right, with bits of its neighbour above: whoever calls masks them away. There is no
/// instruction for bytes.
[[gnu::always_inline]] inline Bytes16 shifted_right(Bytes16 bytes, int count) {
  return reinterpret_cast<Bytes16>(reinterpret_cast<Pairs8>(bytes) >> static_cast<std::uint16_t>(count));
}
[[gnu::always_inline]] inline Bytes16 shifted_left(Bytes16 bytes, int count) {
  return reinterpret_cast<Bytes16>(reinterpret_cast<Pairs8>(bytes) << static_cast<std::uint16_t>(count));
}
/// Four bits of each byte: the low ones, or with `high` those above.
[[gnu::always_inline]] inline Bytes16 four_bits_of(Bytes16 bytes, bool high) {
  return (high ? shifted_right(bytes, 4) : bytes) & 15;
}
/// `value` where a byte has a bit of `mask`, else 0.
[[gnu::always_inline]] inline Bytes16 where_set(Bytes16 bytes, std::uint8_t mask, std::uint8_t value) {
  return reinterpret_cast<Bytes16>((bytes & mask) != 0) & value;
}

/// Whether any byte is not 0.
[[gnu::always_inline]] inline bool any_set(Bytes16 bytes) {
  std::uint64_t halves[2];
  std::memcpy(halves, &bytes, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

using Table16 = std::array<std::int8_t, 16>;

/// table[index] for each byte, which is below 16.
[[gnu::always_inline]] inline SignedBytes16 looked_up(const Table16& table, Bytes16 index) {
#if defined(__SSSE3__)
  return reinterpret_cast<SignedBytes16>(_mm_shuffle_epi8(
      reinterpret_cast<__m128i>(sixteen_bytes(table.data())), reinterpret_cast<__m128i>(index)));
#else
  SignedBytes16 found;
  for (int i = 0; i < 16; ++i) found[i] = table[static_cast<std::size_t>(index[i])];
  return found;
#endif
}

/// Bytes as integers. GCC 12 widens bytes from memory one by one unless it is told the instruction. Vectors
/// of 64 bytes go by reference: how they are handed over by value depends on flags.
template <class Bytes>
[[gnu::always_inline]] inline void widen(Bytes bytes, Ints16& integers) {
  constexpr bool is_signed = std::is_same_v<Bytes, SignedBytes16>;
#if defined(__AVX512F__)
  __m128i from;
  std::memcpy(&from, &bytes, sizeof from);  // nvcc knows no cast
  integers = reinterpret_cast<Ints16>(is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, from)
                                                : _mm512_maskz_cvtepu8_epi32(0xffff, from));
#elif defined(__AVX2__)
  __m128i from;
  std::memcpy(&from, &bytes, sizeof from);
  for (int half = 0; half < 2; ++half) {
    const __m128i eight = half ? _mm_srli_si128(from, 8) : from;
    const __m256i wide = is_signed ? _mm256_cvtepi8_epi32(eight) : _mm256_cvtepu8_epi32(eight);
    std::memcpy(reinterpret_cast<char*>(&integers) + 32 * half, &wide, sizeof wide);
  }
#else
  static_cast<void>(is_signed);
  integers = __builtin_convertvector(bytes, Ints16);
#endif
}

/// Integers less `less`, as f32.
template <class Bytes>
[[gnu::always_inline]] inline void to_floats(Bytes bytes, Floats16& values, std::int32_t less = 0) {
  Ints16 integers;
  widen(bytes, integers);
  values = __builtin_convertvector(integers - less, Floats16);
}

/// The number behind the code of an f16: detail::half_value's bits.
[[gnu::always_inline]] inline f32 half_of(std::uint16_t code) {
#if defined(__F16C__)
  if ((code & 0x7fff) <= 0x7c00) return _cvtsh_ss(code);
#endif
  return precast::detail::half_value(code);
}

/// Codes of bf16, each value rounded to the nearest.
[[gnu::always_inline]] inline void to_bf16_codes(const Floats16& values, Codes16& codes) {
#if defined(__AVX512BF16__) && defined(__AVX512DQ__)
  // The instruction takes subnormal values for zero; there are none as a rule.
  constexpr int subnormal = 0x20;
  if (_mm512_fpclass_ps_mask(reinterpret_cast<__m512>(values), subnormal) == 0) [[likely]] {
    const __m256bh rounded = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values));
    std::memcpy(&codes, &rounded, sizeof codes);
    return;
  }
#endif
  const auto words = reinterpret_cast<Words16>(values);
  const auto is_nan = reinterpret_cast<Words16>((words & 0x7fffffffu) > 0x7f800000u);
  const Words16 rounded = (words + 0x7fffu + ((words >> 16) & 1u)) >> 16;
  const Words16 wide = (is_nan & ((words >> 16) | 0x40u)) | (~is_nan & rounded);
#if defined(__AVX512F__)
  const __m256i narrow = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(wide));
  std::memcpy(&codes, &narrow, sizeof codes);
#else
  codes = __builtin_convertvector(wide, Codes16);
#endif
}

/// Stores values one after another as T, each rounded once: convert_value's bits.
template <class T>
struct Sink {
  T* to;

  [[gnu::always_inline]] void put(int sixteenth, const Floats16& values) const {
    if constexpr (std::is_same_v<T, f32>) {
      std::memcpy(to + 16 * sixteenth, &values, sizeof values);
    } else {
      static_assert(std::is_same_v<T, bf16>);
      Codes16 narrow;
      to_bf16_codes(values, narrow);
      std::memcpy(static_cast<void*>(to + 16 * sixteenth), &narrow, sizeof narrow);
    }
  }
};

}  // namespace precast::host::detail
