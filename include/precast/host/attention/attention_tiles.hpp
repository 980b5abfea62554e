// What both attention kernels are made of: keys and values packed for the multiplier, and products of tiles.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/host/simd/rounded_lanes.hpp>
#include <precast/host/simd/tile_registers.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// The dtype that tiles are multiplied in: bf16 pairs where the CPU multiplies them and sums are f32, else
/// the operand exactly widened to f32.
template <class Operand, class Accumulate>
using tile_type =
    std::conditional_t<std::same_as<Operand, bf16> && std::same_as<Accumulate, f32> && has_bf16_products,
                       bf16, f32>;

/// Values of the summed dimension that the multiplier takes at once.
template <class Tile>
inline constexpr std::int64_t depth_step = std::same_as<Tile, bf16> ? 2 : 1;

/// What the summed dimension is padded to, with zeros.
template <class Tile>
std::int64_t depth_multiple() {
  if constexpr (fits_tile_registers<Tile>)
    if (tile_registers_usable()) return tile_depth;
  return depth_step<Tile>;
}

inline constexpr std::int64_t keys_per_block = 128;
inline constexpr std::int64_t rows_at_once = 6;
static_assert(keys_per_block % (Lanes::width * Lanes::columns_at_once) == 0 &&
              keys_per_block % tile_depth == 0);

/// Columns of a packed operand that lie together: those that the multiplier takes at once, so that a column
/// of registers reads memory in one run; where tile registers take it, all, and of none a tile's.
template <class Tile>
std::int64_t panel_columns(std::int64_t columns) {
  constexpr std::int64_t at_once = std::max<std::int64_t>(16, Lanes::width * Lanes::columns_at_once);
  static_assert(keys_per_block % at_once == 0 && at_once % Lanes::width == 0);
  if constexpr (fits_tile_registers<Tile>)
    if (tile_registers_usable()) return std::max<std::int64_t>(columns, tile_side);
  return at_once;
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

#if defined(__AVX512BF16__) && defined(__AVX512F__)
/// Stores lanes rounded to bf16, which are NaN, or not subnormal: the instruction takes those as zero.
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

/// Multiplies rows of c by their factors. Factors of 1 are most of them, once the largest scores have been
/// seen.
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
    if constexpr (vectors() == 1)  // sums enough to wait for none
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

/// Keys and values of all of their heads, in blocks of keys_per_block, as the multiplier reads them; zeros
/// where a block or a head ends early.
template <class Tile>
class PackedKeysAndValues {
 public:
  static constexpr std::int64_t step = depth_step<Tile>;

  template <class Operand, bool Saturates, class K, class V>
  static PackedKeysAndValues of(const AttentionProblem& problem, HostHeadsView<const K> keys,
                                HostHeadsView<const V> values) {
    PackedKeysAndValues packed(problem);
    parallel_for(problem.batch * problem.heads_kv * packed.blocks_, [&](std::int64_t task) {
      const std::int64_t block = task % packed.blocks_, index = task / packed.blocks_;
      const std::int64_t batch = index / problem.heads_kv, head = index % problem.heads_kv;
      const std::int64_t first = block * keys_per_block;
      const std::int64_t count = std::min(keys_per_block, problem.keys - first);
      packed.template pack<Operand, Saturates>(
          count, [&](std::int64_t i) { return keys.row(batch, head, first + i); },
          [&](std::int64_t i) { return values.row(batch, head, first + i); },
          packed.keys_.data() + task * packed.key_block_, packed.values_.data() + task * packed.value_block_);
    });
    return packed;
  }

  /// What the blocks of one batch take.
  static std::int64_t bytes_of_batch(AttentionProblem problem) {
    problem.batch = 0;
    const PackedKeysAndValues sizes(problem);
    return problem.heads_kv * sizes.blocks_ * bytes_for<Tile>(sizes.key_block_ + sizes.value_block_);
  }

  /// Values of a head, rounded up to what the multiplier takes.
  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t blocks() const { return blocks_; }
  /// [depth, keys_per_block]
  PackedOperand<Tile> keys(std::int64_t batch, std::int64_t kv_head, std::int64_t block) const {
    return {keys_.data() + ((batch * heads_ + kv_head) * blocks_ + block) * key_block_, depth_,
            panel_columns<Tile>(keys_per_block)};
  }
  /// [keys_per_block, columns]
  PackedOperand<Tile> values(std::int64_t batch, std::int64_t kv_head, std::int64_t block) const {
    return {values_.data() + ((batch * heads_ + kv_head) * blocks_ + block) * value_block_, keys_per_block,
            panel_columns<Tile>(columns_)};
  }

 private:
  explicit PackedKeysAndValues(const AttentionProblem& problem)
      : heads_(problem.heads_kv),
        depth_(rounded_up(problem.width, depth_multiple<Tile>())),
        columns_(rounded_up(problem.width_v, Lanes::width)),
        blocks_(ceil_divide(problem.keys, keys_per_block)),
        key_block_(depth_ * keys_per_block),
        value_block_(rounded_up(columns_, panel_columns<Tile>(columns_)) * keys_per_block),
        keys_(Shape{problem.batch * heads_, blocks_, key_block_}),
        values_(Shape{problem.batch * heads_, blocks_, value_block_}) {}

  template <class Operand, bool Saturates, class KeyRow, class ValueRow>
  void pack(std::int64_t count, const KeyRow& key_row, const ValueRow& value_row, Tile* packed_keys,
            Tile* packed_values) const {
    // One block in the order of its rows first, so that packing is a transposition within the cache.
    const std::int64_t stride = std::max(depth_, columns_);
    HostTensor<Tile> rows(Shape{keys_per_block, stride});
    const auto load = [&](const auto& row) {
      std::fill(rows.values().begin(), rows.values().end(), Tile{});
      for (std::int64_t i = 0; i < count; ++i)
        load_operands<Operand, Saturates>(row(i), rows.data() + i * stride);
    };
    load(key_row);
    const std::int64_t keys_at_once = panel_columns<Tile>(keys_per_block);
    for (std::int64_t key = 0; key < keys_per_block; key += keys_at_once)
      transpose_columns<step>(
          HostView<const Tile>(rows.data() + key * stride, Shape{keys_at_once, stride}, stride), 0, depth_,
          keys_at_once, packed_keys + key * depth_);
    load(value_row);
    const std::int64_t panel = panel_columns<Tile>(columns_);
    for (std::int64_t first = 0; first < columns_; first += panel) {
      const std::int64_t width = std::min(panel, columns_ - first);
      for (std::int64_t i = 0; i < keys_per_block; i += step) {
        const Tile* const from = rows.data() + i * stride + first;
        Tile* const to = packed_values + first * keys_per_block + i * panel;
        for (std::int64_t d = 0; d < width; ++d)
          for (std::int64_t s = 0; s < step; ++s) to[d * step + s] = from[s * stride + d];
      }
    }
  }

  std::int64_t heads_, depth_, columns_, blocks_, key_block_, value_block_;
  HostTensor<Tile> keys_, values_;
};

}  // namespace detail
}  // namespace precast::host
