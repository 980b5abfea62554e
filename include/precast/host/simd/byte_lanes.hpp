// Sixteen codes of a block at a time, in compiler vectors: unpacking, table look-up, widening and
// stores.
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
#include <precast/host/simd/sixteen_lanes.hpp>

namespace precast::host::detail {

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));
using SignedBytes16 = std::int8_t __attribute__((vector_size(16)));
using Pairs8 = std::uint16_t __attribute__((vector_size(16)));
using Codes16 = std::uint16_t __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Bytes16 sixteen_bytes(const void* from) {
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

/// Each byte shifted right, with bits of its neighbour shifted in, which the caller masks. There is no
/// shift instruction for bytes.
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

/// Bytes as integers. GCC 12 widens bytes from memory one by one without the intrinsic. Vectors of 64 bytes
/// are passed by reference: the ABI of passing them by value depends on flags.
template <class Bytes>
[[gnu::always_inline]] inline void widen(Bytes bytes, Ints16& integers) {
  constexpr bool is_signed = std::is_same_v<Bytes, SignedBytes16>;
#if defined(__AVX2__)
  __m128i from;
  std::memcpy(&from, &bytes, sizeof from);  // nvcc has no vector cast
#if defined(__AVX512F__)
  integers = reinterpret_cast<Ints16>(is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, from)
                                                : _mm512_maskz_cvtepu8_epi32(0xffff, from));
#else
  for (int half = 0; half < 2; ++half) {
    const __m128i eight = half ? _mm_srli_si128(from, 8) : from;
    integers.parts[half] = reinterpret_cast<Ints16::Register>(is_signed ? _mm256_cvtepi8_epi32(eight)
                                                                        : _mm256_cvtepu8_epi32(eight));
  }
#endif
#else
  using Four = typename VectorOf<std::conditional_t<is_signed, std::int8_t, std::uint8_t>, 4>::type;
  for (int part = 0; part < Ints16::registers; ++part) {
    Four four;
    std::memcpy(&four, reinterpret_cast<const char*>(&bytes) + 4 * part, sizeof four);
    integers.parts[part] = __builtin_convertvector(four, Ints16::Register);
  }
#endif
}

/// Integers less `less`, as f32.
template <class Bytes>
[[gnu::always_inline]] inline void to_floats(Bytes bytes, Floats16& values, std::int32_t less = 0) {
  Ints16 integers;
  widen(bytes, integers);
  values = floats_of(integers - less);
}

/// The six bits of 16 codes that lie four to three bytes, from byte 0 or, with `last`, from byte 4 on: a byte
/// each.
[[gnu::always_inline]] inline Bytes16 six_bits_apart(Bytes16 bytes, bool last) {
  using Fours = std::uint32_t __attribute__((vector_size(16)));
  Fours four;
#if defined(__SSSE3__)
  __m128i from;
  std::memcpy(&from, &bytes, sizeof from);
  from = _mm_shuffle_epi8(from, last ? _mm_setr_epi8(4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1)
                                     : _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
  std::memcpy(&four, &from, sizeof four);
#else
  for (int i = 0; i < 4; ++i) {
    const int place = 3 * i + (last ? 4 : 0);
    four[i] = bytes[place] | std::uint32_t{bytes[place + 1]} << 8 | std::uint32_t{bytes[place + 2]} << 16;
  }
#endif
  return reinterpret_cast<Bytes16>((four & 0x3fu) | (four << 2 & 0x3f00u) | (four << 4 & 0x3f0000u) |
                                   (four << 6 & 0x3f000000u));
}

/// Decodes codes of a float of at most 8 bits. They are codes of f16 with fewer bits and, except fp8_e5m2,
/// another exponent bias. Returns false where one is infinite or NaN: the caller then decodes them.
template <ScalarDtype Code>
[[gnu::always_inline]] inline bool small_numbers_of(Bytes16 codes, Floats16& values) {
  constexpr FloatFormat format = format_of<Code>();
  static_assert(format.bits() <= 8 && format.exponent_bits <= 5 && format.bias() <= 15);
  constexpr auto sign = static_cast<std::uint8_t>(format.sign_code());
  constexpr std::uint8_t magnitude = sign - 1;
  if constexpr (format.specials != Specials::none) {
    constexpr auto first_special = static_cast<std::uint8_t>(format.max_code() + 1);
    if (any_set(reinterpret_cast<Bytes16>((codes & magnitude) >= first_special))) [[unlikely]]
      return false;
  }
#if defined(__AVX2__) && defined(__F16C__)
  constexpr bool is_half = format.exponent_bits == 5;
  constexpr int up = 10 - format.mantissa_bits, sign_up = 16 - format.bits();
  __m128i from;
  std::memcpy(&from, &codes, sizeof from);
  const __m256i wide = _mm256_cvtepu8_epi16(from);
  const __m256i halves =
      is_half ? _mm256_slli_epi16(wide, up)
              : _mm256_or_si256(_mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(magnitude)), up),
                                _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(sign)), sign_up));
#if defined(__AVX512F__)
  values = reinterpret_cast<Floats16>(_mm512_maskz_cvtph_ps(0xffff, halves));
#else
  values.parts[0] = reinterpret_cast<Floats16::Register>(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
  values.parts[1] =
      reinterpret_cast<Floats16::Register>(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
#endif
  if constexpr (!is_half) values = values * static_cast<f32>(1 << (15 - format.bias()));
#else
  // The code shifted into place of an f32, times a power of two.
  constexpr auto rescale = static_cast<f32>(power_of_two(127 - format.bias()));
  Ints16 wide;
  widen(codes, wide);
  const auto magnitudes = same_bits_as<Floats16>((wide & magnitude) << (23 - format.mantissa_bits));
  values = same_bits_as<Floats16>(same_bits_as<Ints16>(magnitudes * rescale) |
                                  ((wide & sign) << (32 - format.bits())));
#endif
  return true;
}

/// Decodes the code of an f16: the same bits as detail::half_value.
[[gnu::always_inline]] inline f32 half_of(std::uint16_t code) {
#if defined(__F16C__)
  if ((code & 0x7fff) <= 0x7c00) return _cvtsh_ss(code);
#endif
  return precast::detail::half_value(code);
}

/// The upper halves of f32 in a register, each value rounded to the nearest bf16.
template <class Words, class Floats>
[[gnu::always_inline]] inline Words rounded_upper_halves(const Floats& values) {
  const auto words = reinterpret_cast<Words>(values);
  const auto is_nan = reinterpret_cast<Words>((words & 0x7fffffffu) > 0x7f800000u);
  const Words rounded = (words + 0x7fffu + ((words >> 16) & 1u)) >> 16;
  return (is_nan & ((words >> 16) | 0x40u)) | (~is_nan & rounded);
}

/// Whether an instruction rounds sixteen values to bf16.
#if defined(__AVX512F__) && defined(__AVX512BF16__) && defined(__AVX512DQ__)
inline constexpr bool has_bf16_rounding = true;
#else
inline constexpr bool has_bf16_rounding = false;
#endif

/// Codes of bf16, each value rounded to the nearest.
[[gnu::always_inline]] inline void to_bf16_codes(const Floats16& values, Codes16& codes) {
#if defined(__AVX512F__)
#if defined(__AVX512BF16__) && defined(__AVX512DQ__)
  // The instruction treats subnormal values as zero; they are rare.
  constexpr int subnormal = 0x20;
  if (_mm512_fpclass_ps_mask(reinterpret_cast<__m512>(values), subnormal) == 0) [[likely]] {
    const __m256bh rounded = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values));
    std::memcpy(&codes, &rounded, sizeof codes);
    return;
  }
#endif
  const auto wide = rounded_upper_halves<Words16>(values);
  const __m256i narrow = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(wide));
  std::memcpy(&codes, &narrow, sizeof codes);
#else
  constexpr int in_part = Words16::in_register;
  using Part = std::uint16_t __attribute__((vector_size(2 * in_part)));
  Part parts[Words16::registers];
  for (int i = 0; i < Words16::registers; ++i)
    parts[i] = __builtin_convertvector(rounded_upper_halves<Words16::Register>(values.parts[i]), Part);
  std::memcpy(&codes, parts, sizeof codes);
#endif
}

/// Stores contiguous values as T, each rounded once: the same bits as convert_value.
template <class T>
struct Sink {
  T* to;

  /// The sink `values` places further on.
  [[gnu::always_inline]] Sink behind(std::int64_t values) const { return {to + values}; }
  [[gnu::always_inline]] void put(int sixteenth, const Floats16& values) const {
    if constexpr (std::is_same_v<T, f32>) {
      store(values, to + 16 * sixteenth);
    } else {
      static_assert(std::is_same_v<T, bf16>);
      Codes16 narrow;
      to_bf16_codes(values, narrow);
      std::memcpy(static_cast<void*>(to + 16 * sixteenth), &narrow, sizeof narrow);
    }
  }
};

}  // namespace precast::host::detail
