// RowPanels: the right operand of a product that sums over its rows, packed in the order in which oneDNN
// reads it. Also the left operand of one that sums over the rows of both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/pack_rows.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// A matrix b [depth, columns] of operands in panels of 64 columns, each of them [depth, 64], or [depth / 2,
/// 64, 2] where bf16 is multiplied as bf16, as PackedWeight has them.
template <OneDnnOperand Multiplied>
class RowPanels {
 public:
  /// Packs rows rounded to Operand.
  template <class Operand, bool Saturates, ScalarDtype B>
  static RowPanels of(HostView<const B> b) {
    RowPanels packed(b.rows(), b.columns());
    pack_panels<pairs, Operand, Saturates>(b, padded(b.rows()), packed.width_, packed.values_.data());
    return packed;
  }

  /// The number of rows, zero padding included.
  static std::int64_t padded(std::int64_t depth) { return rounded_up(depth, 16 * pairs); }

  std::int64_t columns() const { return columns_; }
  std::int64_t width() const { return width_; }
  std::int64_t panels() const { return ceil_divide(columns_, width_); }
  /// [depth, width] or [depth / 2, width, 2], with zeros up to padded(depth).
  const Multiplied* panel(std::int64_t index) const {
    return values_.data() + index * padded(depth_) * width_;
  }

 private:
  static constexpr std::int64_t pairs = std::is_same_v<Multiplied, bf16> ? 2 : 1;

  RowPanels(std::int64_t depth, std::int64_t columns)
      : depth_(depth),
        columns_(columns),
        width_(std::min(widest_panel, rounded_up(columns, 16))),
        values_(Shape{padded(depth), panels() * width_}) {}

  std::int64_t depth_, columns_, width_;
  HostTensor<Multiplied> values_;
};

namespace detail {

/// a [rows, columns] transposed, [columns, padded_rows], as operands, with zeros at the end of each row.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype A>
HostTensor<Multiplied> transposed_operands(HostView<const A> a, std::int64_t padded_rows) {
  // As many rows as make whole cache lines of the result, one after the other.
  constexpr std::int64_t rows_per_task = 64, side = 16, columns_at_once = 64;
  HostTensor<Multiplied> transposed(Shape{a.columns(), padded_rows});
  parallel_for(ceil_divide(padded_rows, rows_per_task), [&](std::int64_t task) {
    const std::int64_t first = task * rows_per_task, width = std::min(rows_per_task, padded_rows - first),
                       there = std::clamp<std::int64_t>(a.rows() - first, 0, rows_per_task);
    const auto transpose_rows = [&](HostView<const Multiplied> rows, Multiplied* to) {
      for (std::int64_t c = 0; c < rows.columns(); c += side)
        transpose_columns<1>(rows, c, std::min(c + side, rows.columns()), width, to, padded_rows);
    };
    if constexpr (are_operands<Operand, Multiplied, A>) {
      transpose_rows(a.rows_between(std::min(first, a.rows()), there), transposed.data() + first);
    } else {
      std::array<Multiplied, static_cast<std::size_t>(rows_per_task * columns_at_once)> scratch;
      for (std::int64_t column = 0; column < a.columns(); column += columns_at_once) {
        const std::int64_t count = std::min(columns_at_once, a.columns() - column);
        for (std::int64_t r = 0; r < there; ++r)
          operand_row<Operand, Saturates>(
              a.row(first + r).subspan(static_cast<std::size_t>(column), static_cast<std::size_t>(count)),
              std::span<Multiplied>(scratch.data() + r * columns_at_once, static_cast<std::size_t>(count)));
        transpose_rows(HostView<const Multiplied>(scratch.data(), Shape{there, count}, columns_at_once),
                       transposed.data() + column * padded_rows + first);
      }
    }
  });
  return transposed;
}

}  // namespace detail

}  // namespace precast::host
