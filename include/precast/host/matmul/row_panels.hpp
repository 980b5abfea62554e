// RowPanels: the right side of a product that is summed over its rows, as operands in the order in which
// oneDNN multiplies them. And the left side of one that is summed over the rows of both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// A matrix b [depth, columns] of operands in panels of 64 columns, each of them [depth, 64], or [depth / 2,
/// 64, 2] where bf16 is multiplied as bf16, as PackedWeight has them. Rows are copied and not transposed, so
/// that it costs what it takes to read and write them.
template <OneDnnOperand Multiplied>
class RowPanels {
 public:
  /// Packs rows rounded to Operand.
  template <class Operand, bool Saturates, ScalarDtype B>
  static RowPanels of(HostView<const B> b) {
    RowPanels packed(b.rows(), b.columns());
    // What a task writes of a panel lies together; of a row it reads a kibibyte before the next.
    constexpr std::int64_t rows_per_task = 64, panels_at_once = 1024 / (widest_panel * sizeof(B));
    const std::int64_t tasks = ceil_divide(padded(b.rows()), rows_per_task);
    parallel_for(tasks, [&](std::int64_t task) {
      const std::int64_t end = std::min(padded(b.rows()), (task + 1) * rows_per_task);
      for (std::int64_t first = 0; first < packed.panels(); first += panels_at_once)
        for (std::int64_t k = task * rows_per_task; k < end; k += pairs)
          for (std::int64_t panel = first; panel < std::min(first + panels_at_once, packed.panels()); ++panel)
            packed.template pack_rows<Operand, Saturates>(b, k, panel);
    });
    return packed;
  }

  /// Rows with the zeros after them.
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

  template <class Operand, bool Saturates, class B>
  void pack_rows(HostView<const B> b, std::int64_t k, std::int64_t panel) {
    Multiplied* const to = values_.data() + (panel * padded(depth_) + k) * width_;
    const std::int64_t first = panel * widest_panel;
    if constexpr (are_operands<Operand, Multiplied, B>)
      if (k + pairs <= depth_ && first + widest_panel <= columns_) {
        const B* const row = b.row(k).data() + first;
        if constexpr (pairs == 1)
          std::memcpy(to, row, widest_panel * sizeof(B));  // of a size that the compiler knows
        else
          interleave(row, b.row(k + 1).data() + first, to);
        return;
      }
    if constexpr (pairs == 1) {
      load_row<Operand, Saturates>(b, k, panel, to);
    } else {
      std::array<Multiplied, static_cast<std::size_t>(pairs * widest_panel)> rows;
      for (std::int64_t i = 0; i < pairs; ++i)
        load_row<Operand, Saturates>(b, k + i, panel, rows.data() + i * widest_panel);
      if (width_ == widest_panel) return interleave(rows.data(), rows.data() + widest_panel, to);
      for (std::int64_t c = 0; c < width_; ++c) {
        to[2 * c] = rows[static_cast<std::size_t>(c)];
        to[2 * c + 1] = rows[static_cast<std::size_t>(widest_panel + c)];
      }
    }
  }
  /// The values of two rows of a panel in turn.
  static void interleave(const Multiplied* upper, const Multiplied* lower, Multiplied* to) {
    using Vector = std::uint16_t __attribute__((vector_size(64)));
    constexpr std::int64_t lanes = 32;
    for (std::int64_t c = 0; c < widest_panel; c += lanes) {
      Vector first, second;
      std::memcpy(&first, upper + c, sizeof first);
      std::memcpy(&second, lower + c, sizeof second);
      [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
        const Vector low = __builtin_shufflevector(first, second, (Lane / 2 + Lane % 2 * lanes)...),
                     high = __builtin_shufflevector(first, second, (16 + Lane / 2 + Lane % 2 * lanes)...);
        std::memcpy(static_cast<void*>(to + 2 * c), &low, sizeof low);
        std::memcpy(static_cast<void*>(to + 2 * c + lanes), &high, sizeof high);
      }
      (std::make_integer_sequence<int, static_cast<int>(lanes)>{});
    }
  }
  /// What a panel has of row k, as operands, and zeros after it.
  template <class Operand, bool Saturates, class B>
  void load_row(HostView<const B> b, std::int64_t k, std::int64_t panel, Multiplied* to) const {
    const std::int64_t first = panel * width_, count = k < depth_ ? std::min(width_, columns_ - first) : 0;
    if (count > 0)
      operand_row<Operand, Saturates>(
          b.row(k).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
          std::span<Multiplied>(to, static_cast<std::size_t>(count)));
    std::fill(to + count, to + width_, Multiplied{});
  }

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
