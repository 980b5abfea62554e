// Packs a matrix into panels, in the order in which products that sum over its rows read them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// The most features of a panel.
inline constexpr std::int64_t widest_panel = 64;

namespace detail {

/// Interleaves the values of two rows of a panel.
template <ScalarDtype T>
  requires(sizeof(T) == sizeof(std::uint16_t))
void interleave(const T* upper, const T* lower, T* to) {
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

/// Columns [first, first + width) of row k as operands, with zeros beyond the matrix.
template <class Operand, bool Saturates, class To, ScalarDtype From>
void load_row(HostView<const From> rows, std::int64_t k, std::int64_t first, std::int64_t width, To* to) {
  const std::int64_t count = k < rows.rows() ? std::min(width, rows.columns() - first) : 0;
  if (count > 0) {
    const auto some = rows.row(k).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    if constexpr (are_operands<Operand, To, From>)
      std::copy(some.begin(), some.end(), to);
    else
      operand_row<Operand, Saturates>(some, std::span<To>(to, static_cast<std::size_t>(count)));
  }
  std::fill(to + count, to + width, To{});
}

}  // namespace detail

/// Rows [k, k + At) of a matrix, columns [first, first + width), as operands: to[column * At + row].
/// Missing rows and columns are zeros.
template <std::int64_t At, class Operand, bool Saturates, class To, ScalarDtype From>
void pack_rows(HostView<const From> rows, std::int64_t k, std::int64_t first, std::int64_t width, To* to) {
  static_assert(At == 1 || At == 2, "Rows are packed one by one, or in pairs.");
  if constexpr (are_operands<Operand, To, From>)
    if (k + At <= rows.rows() && first + widest_panel <= rows.columns()) {
      const From* const row = rows.row(k).data() + first;
      if constexpr (At == 1)
        std::memcpy(to, row, widest_panel * sizeof(From));  // a size known at compile time
      else
        detail::interleave(row, rows.row(k + 1).data() + first, to);
      return;
    }
  if constexpr (At == 1) {
    detail::load_row<Operand, Saturates>(rows, k, first, width, to);
  } else {
    std::array<To, static_cast<std::size_t>(At * widest_panel)> loaded;
    for (std::int64_t i = 0; i < At; ++i)
      detail::load_row<Operand, Saturates>(rows, k + i, first, width, loaded.data() + i * widest_panel);
    if (width == widest_panel) return detail::interleave(loaded.data(), loaded.data() + widest_panel, to);
    for (std::int64_t c = 0; c < width; ++c)
      for (std::int64_t i = 0; i < At; ++i)
        to[At * c + i] = loaded[static_cast<std::size_t>(i * widest_panel + c)];
  }
}

/// A matrix in panels of 64 columns, or of `width` where that is less: to[panel][depth / At][column][At],
/// with zeros up to `depth` rows. Rows are copied and not transposed, so that packing costs one read and
/// one write.
template <std::int64_t At, class Operand, bool Saturates, class To, ScalarDtype From>
void pack_panels(HostView<const From> rows, std::int64_t depth, std::int64_t width, To* to) {
  // A task writes a contiguous part of each panel, and reads 1 KiB of a row before the next row.
  constexpr std::int64_t rows_per_task = 64, panels_at_once = 1024 / (widest_panel * sizeof(From));
  const std::int64_t panels = ceil_divide(rows.columns(), width);
  parallel_for(ceil_divide(depth, rows_per_task), [&](std::int64_t task) {
    const std::int64_t end = std::min(depth, (task + 1) * rows_per_task);
    for (std::int64_t first = 0; first < panels; first += panels_at_once)
      for (std::int64_t k = task * rows_per_task; k < end; k += At)
        for (std::int64_t panel = first; panel < std::min(first + panels_at_once, panels); ++panel)
          pack_rows<At, Operand, Saturates>(rows, k, panel * width, width, to + (panel * depth + k) * width);
  });
}

}  // namespace precast::host
