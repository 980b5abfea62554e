// Rows to columns, in blocks that fit the registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/vector_register.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// The unit of a transposition of `Bytes` bytes: f32 for four, for which GCC has more shuffles than for
/// integers; void where there is none.
template <std::size_t Bytes>
using UnitOf = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, f32, void>>>;

/// A square matrix of units, whose rows are registers of this CPU, of 16 units at most, transposed in
/// place: blocks of half its side, then of a quarter and so on are swapped across the diagonal.
template <class Unit>
class TransposedBlock {
 public:
  static constexpr int side = std::min(16, register_bytes / static_cast<int>(sizeof(Unit)));

  void load_row(int row, const void* from) { std::memcpy(&rows_[row], from, sizeof(Row)); }
  void transpose() { swap_blocks<side / 2>(); }
  void store_row(int row, void* to) const { std::memcpy(to, &rows_[row], sizeof(Row)); }

 private:
  using Row = typename VectorOf<Unit, side>::type;

  template <int Size>
  void swap_blocks() {
    for (int row = 0; row < side; ++row)
      if ((row & Size) == 0) swap_halves<Size>(rows_[row], rows_[row + Size], lanes());
    if constexpr (Size > 1) swap_blocks<Size / 2>();
  }
  template <int Size, int... Lane>
  static void swap_halves(Row& upper, Row& lower, std::integer_sequence<int, Lane...>) {
    const Row before = upper;
    upper = __builtin_shufflevector(before, lower, ((Lane & Size) ? side + Lane - Size : Lane)...);
    lower = __builtin_shufflevector(before, lower, ((Lane & Size) ? side + Lane : Lane + Size)...);
  }
  static auto lanes() { return std::make_integer_sequence<int, side>{}; }

  Row rows_[side];
};

}  // namespace detail

/// Writes columns [first, end) of `rows` one after another, `At` of them together:
/// to[column / At][row][column % At] of a panel [columns / At][stride][At], of which it writes `width`
/// rows. Missing rows and columns are zeros. `first` is a multiple of 16 At, `end` of At, `width` of 16.
template <std::int64_t At, ScalarDtype T>
void transpose_columns(HostView<const T> rows, std::int64_t first, std::int64_t end, std::int64_t width,
                       T* to, std::int64_t stride) {
  using Unit = detail::UnitOf<sizeof(T) * At>;
  constexpr std::int64_t side = 16;
  for (std::int64_t column = first; column < end; column += side * At)
    for (std::int64_t row = 0; row < width; row += side) {
      T* const block = to + column * stride + row * At;
      if constexpr (!std::is_void_v<Unit>) {
        if (row + side <= rows.rows() && column + side * At <= std::min(end, rows.columns())) {
          using Block = detail::TransposedBlock<Unit>;
          for (std::int64_t of_rows = 0; of_rows < side; of_rows += Block::side)
            for (std::int64_t of_columns = 0; of_columns < side; of_columns += Block::side) {
              Block transposed;
              for (int i = 0; i < Block::side; ++i)
                transposed.load_row(i, rows.row(row + of_rows + i).data() + column + of_columns * At);
              transposed.transpose();
              for (int i = 0; i < Block::side; ++i)
                transposed.store_row(i, block + ((of_columns + i) * stride + of_rows) * At);
            }
          continue;
        }
      }
      for (std::int64_t k = 0; k < std::min(side * At, end - column); ++k)
        for (std::int64_t i = 0; i < side; ++i) {
          const bool there = row + i < rows.rows() && column + k < rows.columns();
          block[(k / At * stride + i) * At + k % At] =
              there ? rows.row(row + i)[static_cast<std::size_t>(column + k)] : T{};
        }
    }
}
/// The same where the panel has no more rows.
template <std::int64_t At, ScalarDtype T>
void transpose_columns(HostView<const T> rows, std::int64_t first, std::int64_t end, std::int64_t width,
                       T* to) {
  transpose_columns<At>(rows, first, end, width, to, width);
}

/// Deinterleaves two columns [width][2] into one after the other.
inline void split_pairs(const bf16* pairs, std::int64_t width, bf16* to) {
  for (std::int64_t i = 0; i < width; ++i) {
    to[i] = pairs[2 * i];
    to[width + i] = pairs[2 * i + 1];
  }
}
/// The same, widened to f32, whose upper half is the bf16.
inline void split_pairs(const bf16* pairs, std::int64_t width, f32* to) {
  for (std::int64_t i = 0; i < width; ++i) {
    std::uint32_t pair;
    std::memcpy(&pair, pairs + 2 * i, sizeof pair);
    const std::uint32_t first = pair << 16, second = pair & 0xffff0000u;
    std::memcpy(to + i, &first, sizeof first);
    std::memcpy(to + width + i, &second, sizeof second);
  }
}

}  // namespace precast::host
