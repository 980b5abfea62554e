// Conversion of codes in lanes to the numbers that are multiplied: f32, or pairs of bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/blocks/block_readers.hpp>
#include <precast/host/blocks/code_lanes.hpp>
#include <precast/host/onednn/onednn.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// Whether codes are floats of 8 bits, of the dtype Reader::Code, each of which bf16 holds.
template <class Reader>
concept ReadsFloats = requires {
  typename Reader::Code;
};

/// The dtype that codes are multiplied in: pairs of bf16 where registers have a table of them.
template <class Reader, OneDnnOperand T>
using Multiplied = std::conditional_t<Reader::bits <= 6 || ReadsFloats<Reader>, T, f32>;

/// How f32 numbers are made of the codes in byte `step` of each lane.
enum class Way {
  table,     ///< looked up, in one register or two
  mantissa,  ///< put into the mantissa of 2^23 where they lie, from which their offset is subtracted
  integers,  ///< shifted to the top and back, and converted: of 8 bits
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
  if (!std::is_same_v<M, f32> || Reader::bits == 8) return 0;
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

/// Upper or lower bytes of the bf16 of codes without their sign: 64 of them.
template <ScalarDtype Code, bool upper, int part>
inline constexpr auto bf16_bytes = indices<std::uint8_t>([](int i) {
  const auto value =
      static_cast<f32>(dtype_traits<Code>::format.decode(static_cast<std::uint32_t>(64 * part + i)));
  return bit_cast<std::uint32_t>(value) >> (upper ? 24 : 16) & 0xff;
});

/// Pairs of bf16 behind bytes `step` and `step + 2` of each lane.
template <ScalarDtype Code>
[[gnu::always_inline]] inline Words16 float_pairs_of(Words16 codes, [[maybe_unused]] int step) {
#if defined(__AVX512VBMI__)
  const auto looked_up = [&](const Indices<std::uint8_t>& first, const Indices<std::uint8_t>& second) {
    return same_bits_as<Words16>(_mm512_permutex2var_epi8(
        table_of_indices(first), same_bits_as<__m512i>(codes), table_of_indices(second)));
  };
  const Words16 upper = selected(0x80808080, codes,
                                 looked_up(bf16_bytes<Code, true, 0>, bf16_bytes<Code, true, 1>)),
                lower = looked_up(bf16_bytes<Code, false, 0>, bf16_bytes<Code, false, 1>);
  return step == 0 ? selected(0xff00ff00, upper << 8, lower) : selected(0xff00ff00, upper, lower >> 8);
#else
  return codes;
#endif
}

/// Sixteen numbers of byte `step` of each lane.
template <class Reader>
[[gnu::always_inline]] inline __m512i f32_of(Words16 codes, int step) {
  switch (way_of<Reader>(step)) {
    case Way::integers: {
      const auto at_top = same_bits_as<Ints16>(codes << (24 - 8 * step));
      return same_bits_as<__m512i>(__builtin_convertvector(at_top >> 24, Floats16));
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
  if constexpr (ReadsFloats<Reader>) {
    const Words16 pairs = float_pairs_of<typename Reader::Code>(codes, step % 2);
    if constexpr (!std::is_same_v<M, f32>) return same_bits_as<__m512i>(pairs);
    return same_bits_as<__m512i>(step < 2 ? pairs << 16 : pairs & 0xffff0000u);
  } else if constexpr (std::is_same_v<M, f32>) {
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
