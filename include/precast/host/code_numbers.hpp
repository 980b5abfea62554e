// How codes in lanes become numbers that are multiplied: f32, or pairs of bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/block_readers.hpp>
#include <precast/host/code_lanes.hpp>
#include <precast/host/onednn.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// What codes are multiplied in: pairs of bf16 where a register has a table of them.
template <class Reader, OneDnnOperand T>
using Multiplied = std::conditional_t<Reader::bits <= 6, T, f32>;

/// How f32 numbers are made of the codes in byte `step` of each lane.
enum class Way {
  table,     ///< looked up, in one register or two
  mantissa,  ///< put into the mantissa of 2^23 where they lie, from which their offset is subtracted
  integers,  ///< shifted to the top, and converted: of 8 bits
};
template <class Reader>
constexpr Way way_of(int step) {
  if (Reader::bits == 8) return Way::integers;
  if (Reader::bits <= 4) return Way::table;
  // Of two registers, which take longer: half of the codes each, so that units of the CPU share the work.
  return Reader::bits == 6 || step == 1 || step == 2 ? Way::mantissa : Way::table;
}

/// Numbers of a step are values times 2 to this power. In the mantissa codes stay where they lie, but those
/// of the last byte, which has no place there.
template <class Reader, OneDnnOperand M>
constexpr int power_of_step(int step) {
  if (!std::is_same_v<M, f32>) return 0;
  if (way_of<Reader>(step) == Way::integers) return 32 - Reader::bits;
  if (way_of<Reader>(step) == Way::mantissa) return step == 3 ? 0 : 8 * step;
  return Reader::bits > 4 ? 8 : 0;
}
/// The least of them, by which scales are divided. Others are taken from x, which becomes no larger; what is
/// below 2^-110 may lose bits.
template <class Reader, OneDnnOperand M>
constexpr int least_power() {
  int least = power_of_step<Reader, M>(0);
  for (int step = 1; step < 4; ++step) least = std::min(least, power_of_step<Reader, M>(step));
  return least;
}
constexpr f32 two_to_minus(int power) { return 1.0f / static_cast<f32>(std::uint32_t{1} << power); }

/// Table `part` of the values of codes, as registers look them up, with the bits above a code left out.
template <class Reader, OneDnnOperand M, int part>
inline constexpr auto values_table =
    indices<std::conditional_t<std::is_same_v<M, f32>, f32, std::uint16_t>>([](int i) {
      constexpr int in_table = std::is_same_v<M, f32> ? 16 : 32;
      const int value = Reader::value((part * in_table + i) & ((1 << Reader::bits) - 1));
      if constexpr (std::is_same_v<M, f32>)
        return static_cast<f32>(value << power_of_step<Reader, f32>(0));
      else
        return bit_cast<std::uint32_t>(static_cast<f32>(value)) >> 16;
    });

/// Sixteen numbers of byte `step` of each lane.
template <class Reader>
[[gnu::always_inline]] inline __m512i f32_of(Words16 codes, int step) {
  switch (way_of<Reader>(step)) {
    case Way::integers: {
      Words16 at_top = codes << (24 - 8 * step);
      if (step > 0) at_top &= 0xff000000u;
      const Floats16 numbers = __builtin_convertvector(same_bits_as<Ints16>(at_top), Floats16);
      return same_bits_as<__m512i>(numbers);
    }
    case Way::mantissa: {
      const int place = step == 3 ? 0 : 8 * step;
      const Words16 in_place = step == 3 ? codes >> 24 : codes;
      const Words16 words = (in_place & ((1u << Reader::bits) - 1) << place) | 0x4b000000u;
      const f32 zero = 0x1p23f - static_cast<f32>(Reader::value(0) * (1 << place));
      return same_bits_as<__m512i>(same_bits_as<Floats16>(words) - zero);
    }
    case Way::table:
      break;
  }
  if constexpr (Reader::bits <= 4) {
    // The upper half of such a number is all of it. Looked up by words, the code in a lane's third byte gives
    // it where it lies, and with the fourth's one shift is for two steps.
    const auto index = same_bits_as<__m512i>(codes >> (step % 2 * 8));
    constexpr __mmask32 upper_halves = 0xaaaaaaaa;
    if (step < 2)
      return _mm512_maskz_permutexvar_epi32(all_lanes, index, table_of_indices(values_table<Reader, f32, 0>));
    return _mm512_maskz_permutexvar_epi16(upper_halves, index,
                                          table_of_indices(values_table<Reader, bf16, 0>));
  } else {
    const auto index = same_bits_as<__m512i>(codes >> (8 * step));
    return _mm512_permutex2var_epi32(table_of_indices(values_table<Reader, f32, 0>), index,
                                     table_of_indices(values_table<Reader, f32, 1>));
  }
}

/// Numbers of a step: of byte `step` of each lane, or, of bf16, of bytes `step` and `step + 2`.
template <class Reader, OneDnnOperand M>
[[gnu::always_inline]] inline __m512i numbers_of(Words16 codes, int step) {
  if constexpr (std::is_same_v<M, f32>) {
    return f32_of<Reader>(codes, step);
  } else {
    const auto index = same_bits_as<__m512i>(codes >> (8 * step));
    const __m512i first = table_of_indices(values_table<Reader, M, 0>);
    if constexpr (Reader::bits <= 5)
      return _mm512_maskz_permutexvar_epi16(~__mmask32{0}, index, first);
    else
      return _mm512_permutex2var_epi16(first, index, table_of_indices(values_table<Reader, M, 1>));
  }
}

#endif

}  // namespace precast::host::detail
