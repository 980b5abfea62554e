// Products of a few rows with a weight in blocks, whose format is known at run time alone: codes are turned
// into columns as bytes and become f32 in the registers that multiply them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include <precast/dtype/scalar.hpp>
#include <precast/host/block_codes.hpp>
#include <precast/host/block_decoder.hpp>
#include <precast/host/byte_lanes.hpp>
#include <precast/host/lanes.hpp>
#include <precast/host/onednn.hpp>
#include <precast/host/transpose.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// Rows of a weight in blocks, of one panel.
struct BlockPanel {
  BlockSplitter splitter;
  BlockRows rows;
  std::int64_t features, columns;
};

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// Whether this CPU's vectors take them.
inline constexpr bool has_block_gemv = true;

namespace detail {

/// 64 rows of 16 codes, as SplitRow has them from one sixteenth on, into 16 columns of 64: within each of
/// four lanes of 16 rows, bytes of registers eight apart change places four times.
inline void turn_codes(const std::int8_t* codes, std::int8_t* columns) {
  constexpr int stride = static_cast<int>(split_columns) / 16 * 64;
  __m512i rows[16], turned[16];
  for (int i = 0; i < 16; ++i) rows[i] = _mm512_load_si512(codes + stride * i);
  const auto interleave = [](const __m512i(&from)[16], __m512i(&to)[16]) {
    for (int i = 0; i < 8; ++i) {
      to[2 * i] = _mm512_unpacklo_epi8(from[i], from[i + 8]);
      to[2 * i + 1] = _mm512_unpackhi_epi8(from[i], from[i + 8]);
    }
  };
  interleave(rows, turned);
  interleave(turned, rows);
  interleave(rows, turned);
  interleave(turned, rows);
  for (int i = 0; i < 16; ++i) _mm512_store_si512(columns + 64 * i, rows[i]);
}

/// Scales [row][piece] into [piece][row].
inline void turn_scales(const f32* of_rows, f32* of_pieces) {
  for (std::int64_t row = 0; row < split_rows; row += 16) {
    TurnedBlock<Sixteen<sizeof(f32)>::type> block;
    for (int i = 0; i < 16; ++i) block.load_row(i, of_rows + (row + i) * split_pieces);
    block.turn();
    for (int i = 0; i < 16; ++i) block.store_row(i, of_pieces + i * split_rows + row);
  }
}

/// Sixteen codes of a column as the values of their blocks: the bits that decode gives.
template <bool HasOffsets>
[[gnu::always_inline]] inline Floats16 values_of_codes(const std::int8_t* codes, const f32* scales,
                                                       const f32* offsets) {
  SignedBytes16 bytes;
  std::memcpy(&bytes, codes, sizeof bytes);
  Floats16 values, scale;
  to_floats(bytes, values);
  std::memcpy(&scale, scales, sizeof scale);
  values = values * scale;
  if constexpr (HasOffsets) {
    Floats16 offset;
    std::memcpy(&offset, offsets, sizeof offset);
    values = values + offset;
  }
  return values;
}

#if defined(__AVX512BF16__) && defined(__AVX512DQ__)
/// Two columns as pairs of bf16, as products of pairs take them.
[[gnu::always_inline]] inline void to_pairs(const Floats16& first, const Floats16& second, bf16* pairs) {
  const auto low = reinterpret_cast<__m512>(first), high = reinterpret_cast<__m512>(second);
  constexpr int subnormal = 0x20;  // which the instruction takes for zero; there are none as a rule
  if ((_mm512_fpclass_ps_mask(low, subnormal) | _mm512_fpclass_ps_mask(high, subnormal)) == 0) [[likely]] {
    const __m512i in_turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                             7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512bh halves = _mm512_cvtne2ps_pbh(high, low);
    _mm512_store_si512(pairs, _mm512_permutexvar_epi16(in_turn, reinterpret_cast<__m512i>(halves)));
    return;
  }
  Codes16 codes[2];
  to_bf16_codes(first, codes[0]);
  to_bf16_codes(second, codes[1]);
  for (int i = 0; i < 32; ++i) pairs[i] = bf16{codes[i % 2][i / 2]};
}
#endif

/// Adds the products of Rows rows of x with `count` columns of codes.
template <int Rows, bool HasOffsets, OneDnnOperand T>
[[gnu::always_inline]] inline void add_codes(const std::array<const T*, Rows>& x, const std::int8_t* codes,
                                             const f32* scales, const f32* offsets, std::int64_t count,
                                             Lanes (&sums)[Rows][4]) {
  if constexpr (std::is_same_v<T, f32>) {
    for (std::int64_t k = 0; k < count; ++k)
      for (int v = 0; v < 4; ++v) {
        const Floats16 values =
            values_of_codes<HasOffsets>(codes + 64 * k + 16 * v, scales + 16 * v, offsets + 16 * v);
        for (int r = 0; r < Rows; ++r)
          sums[r][v] = sums[r][v].plus_product(Lanes::broadcast(x[r][k]), {reinterpret_cast<__m512>(values)});
      }
  } else {
    for (std::int64_t k = 0; k < count; k += 2)
      for (int v = 0; v < 4; ++v) {
        const std::int8_t* const at = codes + 64 * k + 16 * v;
        alignas(64) bf16 pairs[32];
        to_pairs(values_of_codes<HasOffsets>(at, scales + 16 * v, offsets + 16 * v),
                 values_of_codes<HasOffsets>(at + 64, scales + 16 * v, offsets + 16 * v), pairs);
        for (int r = 0; r < Rows; ++r) sums[r][v] = plus_pair_product(sums[r][v], x[r] + k, pairs);
      }
  }
}

template <int Rows, bool HasOffsets, OneDnnOperand T>
void multiply_panel(const BlockPanel& weight, const std::array<const T*, Rows>& x, std::int64_t rows,
                    std::int64_t width, f32* sums) {
  // Columns whose sums are added to those before, as skinny_gemm has them.
  constexpr std::int64_t chunk = 64;
  alignas(64) std::int8_t codes[split_rows * split_columns], columns[16 * split_rows];
  alignas(64) f32 of_rows[2][split_rows * split_pieces];
  alignas(64) f32 scales[split_pieces * split_rows], offsets[split_pieces * split_rows];
  const BlockSplitter& splitter = weight.splitter;
  Lanes totals[Rows][4];
  for (auto& row : totals) std::ranges::fill(row, Lanes::zero());
  for (std::int64_t first = 0; first < weight.columns; first += split_columns) {
    const std::int64_t here = std::min(split_columns, weight.columns - first);
    const std::int64_t byte = first / splitter.values_per_block * splitter.bytes_per_block;
    const std::int64_t bytes = split_columns / splitter.values_per_block * splitter.bytes_per_block;
    for (std::int64_t f = 0; f < split_rows; ++f) {
      const std::byte* const from = weight.rows.from_row(std::min(f, weight.features - 1)).first + byte;
      splitter.split(from, here,
                     {codes + f % 16 * (split_columns * 4) + f / 16 * 16, of_rows[0] + f * split_pieces,
                      of_rows[1] + f * split_pieces});
      // More streams than a CPU follows by itself.
      for (std::int64_t next = 0; next < bytes; next += 64) __builtin_prefetch(from + bytes + next);
    }
    turn_scales(of_rows[0], scales);
    if constexpr (HasOffsets) turn_scales(of_rows[1], offsets);
    for (std::int64_t begin = 0; begin < here; begin += chunk) {
      Lanes partial[Rows][4];
      for (auto& row : partial) std::ranges::fill(row, Lanes::zero());
      for (std::int64_t k = begin; k < std::min(here, begin + chunk); k += 16) {
        turn_codes(codes + k / 16 * 64, columns);
        const std::int64_t piece = k / splitter.values_in_piece * split_rows;
        std::array<const T*, Rows> from;
        for (int r = 0; r < Rows; ++r) from[r] = x[r] + first + k;
        add_codes<Rows, HasOffsets, T>(from, columns, scales + piece, offsets + piece,
                                       std::min<std::int64_t>(16, here - k), partial);
      }
      for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < 4; ++v) totals[r][v] = totals[r][v] + partial[r][v];
    }
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t v = 0; 16 * v < width; ++v) totals[r][v].store(sums + r * width + 16 * v);
}

}  // namespace detail

/// skinny_gemm's sums, bit for bit, of one row of x or up to four, whose columns are even in number. x is
/// f32, or bf16 for products of pairs; a value of the weight is rounded to it.
template <OneDnnOperand T>
void block_gemv(HostView<const T> x, const BlockPanel& weight, std::int64_t width, f32* sums) {
  const auto multiply = [&]<int Rows>(std::integral_constant<int, Rows>) {
    std::array<const T*, Rows> rows;
    for (int r = 0; r < Rows; ++r) rows[r] = x.row(std::min<std::int64_t>(r, x.rows() - 1)).data();
    if (weight.splitter.has_offsets)
      detail::multiply_panel<Rows, true, T>(weight, rows, x.rows(), width, sums);
    else
      detail::multiply_panel<Rows, false, T>(weight, rows, x.rows(), width, sums);
  };
  if (x.rows() == 1)
    multiply(std::integral_constant<int, 1>{});
  else
    multiply(std::integral_constant<int, 4>{});
}

#else
inline constexpr bool has_block_gemv = false;
template <OneDnnOperand T>
void block_gemv(HostView<const T>, const BlockPanel&, std::int64_t, f32*) {}
#endif

}  // namespace precast::host
