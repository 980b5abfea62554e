// CodeLanes: 64 codes of a block format in a register, a byte each, and the operations of readers on them.
// Only where vectors have 64 bytes (AVX-512).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/byte_lanes.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// Some columns of a row: vectors of 64 codes, the scale of each of their 16 lanes, and, where the format has
/// offsets, what the sums of x of `Reader::offset_columns` are multiplied by.
template <int Vectors>
struct CodeLanes {
  Words16 codes[Vectors];
  Floats16 scales[Vectors];
  Floats16 offsets;
};

/// Columns [first, first + count).
struct ColumnRun {
  int first = 0, count = 0;
};

// The plain forms of these instructions make GCC 12 warn of an undefined register.
inline constexpr __mmask16 all_lanes = 0xffff;

template <class T>
using Indices = std::array<T, 64 / sizeof(T)>;

/// A table of `function` for each index.
template <class T, class Function>
constexpr Indices<T> indices(Function function) {
  Indices<T> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(function(static_cast<int>(i)));
  return table;
}

[[gnu::always_inline]] inline Words16 loaded(const void* from) {
  return same_bits_as<Words16>(_mm512_loadu_si512(from));
}
/// 32 bytes in both halves, or 16 in each quarter. Such a load lies across two lines of a cache less often
/// than one of 64 bytes.
[[gnu::always_inline]] inline Words16 loaded_twice(const void* from) {
  return same_bits_as<Words16>(
      _mm512_maskz_broadcast_i64x4(0xff, _mm256_loadu_si256(static_cast<const __m256i*>(from))));
}
[[gnu::always_inline]] inline Words16 loaded_four_times(const void* from) {
  return same_bits_as<Words16>(
      _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(static_cast<const __m128i*>(from))));
}
/// 32 bytes, and 32 others.
[[gnu::always_inline]] inline Words16 loaded_halves(const void* first, const void* second) {
  const __m256i low = _mm256_loadu_si256(static_cast<const __m256i*>(first)),
                high = _mm256_loadu_si256(static_cast<const __m256i*>(second));
  return same_bits_as<Words16>(_mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(low), high, 1));
}
template <class T>
[[gnu::always_inline]] inline __m512i table_of_indices(const Indices<T>& table) {
  return _mm512_loadu_si512(table.data());
}

/// a where the bits of `mask` are set, else b.
[[gnu::always_inline]] inline Words16 selected(std::uint32_t mask, Words16 a, Words16 b) {
  return same_bits_as<Words16>(_mm512_ternarylogic_epi32(
      _mm512_set1_epi32(static_cast<int>(mask)), same_bits_as<__m512i>(a), same_bits_as<__m512i>(b), 0xca));
}

/// Lane i: values[index[i]].
[[gnu::always_inline]] inline Floats16 looked_up(const Indices<std::uint32_t>& index, Floats16 values) {
  return same_bits_as<Floats16>(
      _mm512_maskz_permutexvar_ps(all_lanes, table_of_indices(index), same_bits_as<__m512>(values)));
}
/// Word i of 16 bits: word index[i] of two registers.
[[gnu::always_inline]] inline Words16 words_of(Words16 first, const Indices<std::uint16_t>& index,
                                               Words16 second) {
  return same_bits_as<Words16>(_mm512_permutex2var_epi16(
      same_bits_as<__m512i>(first), table_of_indices(index), same_bits_as<__m512i>(second)));
}

using Pairs32 = std::uint16_t __attribute__((vector_size(64)));
#if defined(__AVX512VBMI__)
/// Byte i: byte index[i] of two registers.
[[gnu::always_inline]] inline Words16 bytes_of(Words16 first, const Indices<std::uint8_t>& index,
                                               Words16 second) {
  return same_bits_as<Words16>(_mm512_permutex2var_epi8(same_bits_as<__m512i>(first), table_of_indices(index),
                                                        same_bits_as<__m512i>(second)));
}
/// Byte i: byte index[i] of one register.
[[gnu::always_inline]] inline Words16 bytes_at(const Indices<std::uint8_t>& index, Words16 bytes) {
  return same_bits_as<Words16>(
      _mm512_maskz_permutexvar_epi8(~__mmask64{0}, table_of_indices(index), same_bits_as<__m512i>(bytes)));
}
/// Byte i: the eight bits from bit shifts[i] on of the 64 that it is one of.
[[gnu::always_inline]] inline Words16 shifted_apart(Words16 bytes, const Indices<std::uint8_t>& shifts) {
  return same_bits_as<Words16>(_mm512_maskz_multishift_epi64_epi8(~__mmask64{0}, table_of_indices(shifts),
                                                                  same_bits_as<__m512i>(bytes)));
}
/// Each Word: byte index[i] of one register, where i is the word's first byte.
template <class Word>
[[gnu::always_inline]] inline Words16 widened_bytes_of(Words16 bytes, const Indices<std::uint8_t>& index) {
  constexpr __mmask64 first_of_words = ~__mmask64{0} / ((1u << sizeof(Word)) - 1);
  return same_bits_as<Words16>(
      _mm512_maskz_permutexvar_epi8(first_of_words, table_of_indices(index), same_bits_as<__m512i>(bytes)));
}
/// Each of the words, whose first byte is byte index[i] of `bytes`.
[[gnu::always_inline]] inline Words16 words_with_byte_of(Words16 words, Words16 bytes,
                                                         const Indices<std::uint8_t>& index) {
  constexpr __mmask64 first_of_words = 0x1111111111111111;
  return same_bits_as<Words16>(_mm512_mask_permutexvar_epi8(
      same_bits_as<__m512i>(words), first_of_words, table_of_indices(index), same_bits_as<__m512i>(bytes)));
}
#endif

/// The numbers behind sixteen codes of f16, in one half of the words.
template <int half>
[[gnu::always_inline]] inline Floats16 halves_of(Words16 words) {
  const __m256i codes = _mm512_maskz_extracti64x4_epi64(0xff, same_bits_as<__m512i>(words), half);
  return same_bits_as<Floats16>(_mm512_maskz_cvtph_ps(all_lanes, codes));
}
/// The sum of all lanes.
[[gnu::always_inline]] inline f32 sum_of_lanes(Floats16 lanes) {
  const auto bits = same_bits_as<__m512i>(lanes);
  const __m256 eight = _mm256_castsi256_ps(_mm512_maskz_extracti64x4_epi64(0xff, bits, 0)) +
                       _mm256_castsi256_ps(_mm512_maskz_extracti64x4_epi64(0xff, bits, 1));
  const __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
  const __m128 two = four + _mm_movehl_ps(four, four);
  return two[0] + two[1];
}

/// factor * 2^powers, rounded once.
[[gnu::always_inline]] inline Floats16 times_two_to(f32 factor, Floats16 powers) {
  return same_bits_as<Floats16>(
      _mm512_maskz_scalef_ps(all_lanes, _mm512_set1_ps(factor), same_bits_as<__m512>(powers)));
}

/// Sixteen integers of 8 bits.
[[gnu::always_inline]] inline Floats16 floats_of(__m128i bytes) {
  return __builtin_convertvector(same_bits_as<Ints16>(_mm512_maskz_cvtepi8_epi32(all_lanes, bytes)),
                                 Floats16);
}

#endif

}  // namespace precast::host::detail
