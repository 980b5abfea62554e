// Tiles of attention operands, in the layout of the multiplier, and their products.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <precast/host/rows/convert.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/host/simd/rounded_lanes.hpp>
#include <precast/host/simd/tile_registers.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::host {

namespace detail {

/// The dtype that tiles are multiplied in: bf16 pairs where the CPU multiplies them and sums are f32, else
/// the operand exactly widened to f32.
template <class Operand, class Accumulate>
using tile_type =
    std::conditional_t<std::same_as<Operand, bf16> && std::same_as<Accumulate, f32> && has_bf16_products,
                       bf16, f32>;

/// Values of the summed dimension that one instruction multiplies.
template <class Tile>
inline constexpr std::int64_t depth_step = std::same_as<Tile, bf16> ? 2 : 1;

/// The summed dimension is zero-padded to a multiple of this.
template <class Tile>
std::int64_t depth_multiple() {
  if constexpr (fits_tile_registers<Tile>)
    if (tile_registers_usable()) return tile_depth;
  return depth_step<Tile>;
}

/// Keys that are packed together: their scores of a task's queries stay in the second-level cache.
inline constexpr std::int64_t keys_per_block = 128;
/// Rows of a register tile: their sums in Lanes::columns_at_once vectors each, 24 of AVX-512's 32 registers
/// and 12 of AVX2's 16, leave some for the operands.
inline constexpr std::int64_t rows_at_once = 6;
static_assert(keys_per_block % (Lanes::width * Lanes::columns_at_once) == 0 &&
              keys_per_block % tile_depth == 0);

/// The rows of a block are padded to a multiple of this: they are transposed 16 at a time, and summed over.
template <class Tile>
std::int64_t row_multiple() {
  constexpr std::int64_t transposed = 16;
  static_assert(transposed % Lanes::width == 0 && tile_depth % transposed == 0);
  return std::max(transposed, depth_multiple<Tile>());
}

/// Columns of a packed operand that lie together: those that the multiplier takes at once, so that a column
/// of registers reads memory in one run, and no more than there are; where tile registers take it, all, and
/// of none a tile's.
template <class Tile>
std::int64_t panel_columns(std::int64_t columns) {
  constexpr std::int64_t at_once = std::max<std::int64_t>(16, Lanes::width * Lanes::columns_at_once);
  static_assert(keys_per_block % at_once == 0 && at_once % Lanes::width == 0);
  const std::int64_t all = std::max(rounded_up(columns, tile_side), tile_side);
  if constexpr (fits_tile_registers<Tile>)
    if (tile_registers_usable()) return all;
  return std::min(at_once, all);
}

/// The right operand of a product: panels [depth / depth_step][panel][depth_step], one after another.
template <class Tile>
struct PackedOperand {
  const Tile* values;
  std::int64_t depth, panel;

  /// From one step of the depth to the next.
  std::int64_t stride() const { return panel * depth_step<Tile>; }
  const Tile* from_column(std::int64_t column) const {
    return values + column / panel * panel * depth + column % panel * depth_step<Tile>;
  }
};

/// A row of any dtype as tile values: rounded to the operand dtype, then widened exactly where tiles are f32.
/// Values that are operands already are not rounded, and an infinity among them does not saturate.
template <class Operand, bool Saturates, class Tile, class From>
void load_operands(std::span<const From> row, Tile* to) {
  constexpr bool clamps = Saturates && !widens_exactly<Operand, From>;
  const std::span<Tile> out(to, row.size());
  if constexpr (std::same_as<Tile, Operand>) {
    convert_row<Operand, clamps>(row, out);
  } else {
    convert_row<f32>(row, out);
    round_row<Operand, clamps>(out);
  }
}

/// Rows [0, rows) as a tile of `depth` columns, `stride` apart, with zeros after each and up to row `end`.
template <class Operand, bool Saturates, class Tile, class Row>
void load_tile(std::int64_t rows, std::int64_t end, std::int64_t depth, std::int64_t stride, const Row& row,
               Tile* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto from = row(i);
    load_operands<Operand, Saturates>(from, to + i * stride);
    std::fill(to + i * stride + from.size(), to + i * stride + depth, Tile{});
  }
  for (std::int64_t i = rows; i < end; ++i) std::fill_n(to + i * stride, depth, Tile{});
}

#if defined(__AVX512BF16__) && defined(__AVX512F__)
/// Stores lanes rounded to bf16. No lane may be subnormal, which the instruction treats as zero.
inline void store_rounded(Lanes lanes, void* to) {
  const __m256bh rounded = _mm512_cvtneps_pbh(lanes.value);
  std::memcpy(to, &rounded, sizeof(rounded));
}
#else
inline void store_rounded(Lanes, void*) {}  // tiles are f32
#endif

/// Row panels times column panels in registers: c = a b, or c = factor(row) c + a b, where each addition
/// rounds to Accumulate. a is [Rows][depth]; b is [depth / depth_step][columns][depth_step].
template <class Tile, class Accumulate, int Rows, int Vectors>
void multiply_registers(const Tile* a, std::int64_t a_stride, const Tile* b, std::int64_t b_stride,
                        std::int64_t depth, f32* c, std::int64_t c_stride, const f32* factors) {
  Lanes sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      sums[r][v] = factors ? Lanes::load(c + r * c_stride + v * Lanes::width) * Lanes::broadcast(factors[r])
                           : Lanes::zero();
  constexpr std::int64_t step = depth_step<Tile>;
  for (std::int64_t k = 0; k < depth; k += step, b += b_stride) {
    if constexpr (step == 1) {
      Lanes right[Vectors];
      for (int v = 0; v < Vectors; ++v) right[v] = Lanes::load(b + v * Lanes::width);
      for (int r = 0; r < Rows; ++r) {
        const Lanes left = Lanes::broadcast(a[r * a_stride + k]);
        for (int v = 0; v < Vectors; ++v)
          sums[r][v] = rounded_lanes<Accumulate>(sums[r][v].plus_product(left, right[v]));
      }
    } else {
      for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vectors; ++v)
          sums[r][v] = plus_pair_product(sums[r][v], a + r * a_stride + k, b + v * Lanes::width * step);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      lanes_with_single_nan<Accumulate>(sums[r][v]).store(c + r * c_stride + v * Lanes::width);
}

/// Multiplies rows of c by their factors, most of which are 1 once the largest scores of the rows
/// have been seen.
inline void scale_rows(f32* c, std::int64_t c_stride, const f32* factors, std::int64_t rows,
                       std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (factors[r] == 1) continue;
    f32* const row = c + r * c_stride;
    for (std::int64_t i = 0; i < columns; ++i) row[i] *= factors[r];
  }
}

/// c = a b, or with `factors` c = factor(row) c + a b. `columns` is a multiple of Lanes::width, `depth`, as
/// much of the operands' as is summed, of depth_multiple(); `rows` are rounded up to rows_at_once: a, c and
/// factors have room for that.
template <class Tile, class Accumulate>
void multiply_tile(const Tile* a, std::int64_t a_stride, const PackedOperand<Tile>& b, std::int64_t depth,
                   f32* c, std::int64_t c_stride, const f32* factors, std::int64_t rows,
                   std::int64_t columns) {
  if constexpr (fits_tile_registers<Tile>)
    if (tile_registers_usable()) {
      if (factors) scale_rows(c, c_stride, factors, rows, columns);
      return multiply_in_tile_registers(a, TileLayout::rows(a_stride), b.values, b.stride(), depth, c,
                                        c_stride, factors != nullptr, rows, columns);
    }
  constexpr int most = Lanes::columns_at_once;
  const std::int64_t end = rounded_up(rows, rows_at_once);
  const auto multiply = [&](auto row_count, auto vectors, std::int64_t r, std::int64_t column) {
    multiply_registers<Tile, Accumulate, row_count(), vectors()>(
        a + r * a_stride, a_stride, b.from_column(column), b.stride(), depth, c + r * c_stride + column,
        c_stride, factors ? factors + r : nullptr);
  };
  const auto panel = [&](auto vectors, std::int64_t column) {
    using Rows = std::integral_constant<int, rows_at_once>;
    std::int64_t r = 0;
    if constexpr (vectors() == 1)  // enough independent sums to hide latency
      for (; r + 2 * rows_at_once <= end; r += 2 * rows_at_once)
        multiply(std::integral_constant<int, 2 * rows_at_once>{}, vectors, r, column);
    for (; r < end; r += rows_at_once) multiply(Rows{}, vectors, r, column);
  };
  std::int64_t column = 0;
  for (; column + most * Lanes::width <= columns; column += most * Lanes::width)
    panel(std::integral_constant<int, most>{}, column);
  // Fewer vectors than a panel has are left: one, two or three.
  const std::int64_t left = (columns - column) / Lanes::width;
  if constexpr (most >= 4) {
    if (left == 3) return panel(std::integral_constant<int, 3>{}, column);
    if (left == 2) return panel(std::integral_constant<int, 2>{}, column);
  }
  if constexpr (most >= 2)
    if (left == 1) panel(std::integral_constant<int, 1>{}, column);
}

}  // namespace detail
}  // namespace precast::host
