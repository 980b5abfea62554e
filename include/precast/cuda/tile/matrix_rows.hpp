// MatrixRows: rows in global memory as tiles are loaded from them. BlockRows, and ImplicitIm2col of
// cuda/conv, are other such sources, with the same interface.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Rows of a matrix; values outside are zero. WholeChunks: rows that are `wide` are whole numbers of 16
/// bytes, so that no chunk is cut off at their end.
template <ScalarDtype T, bool WholeChunks = false>
struct MatrixRows {
  using value_type = T;
  /// Whether values are decoded as they are read; otherwise they are contiguous in memory.
  static constexpr bool decoded = false;

  /// The start of a row: its offset in values, and whether the row exists.
  struct Row {
    std::int64_t offset;
    bool there;
  };
  /// The offset of adjacent values of a row, and how many there are.
  struct Extent {
    std::int64_t offset;
    int values;
  };

  GlobalPointer<const T> data;
  std::int64_t rows, row_stride;
  int columns;
  bool wide;  ///< whether a row's chunks of 16 bytes lie on multiples of 16

  PRECAST_DEVICE Row row(std::int64_t index) const {
    return {index * row_stride, planted<"row past the end">(index < rows, index <= rows)};
  }
  /// Whether each row that is there has the `count` values from `column` on.
  PRECAST_DEVICE bool have(int column, int count) const {
    return column + planted<"chunk past the end of rows">(count, 0) <= columns;
  }
  /// The `count` values from `column` on, fewer at the end of the row.
  PRECAST_DEVICE Extent extent(const Row& row, int column, int count) const {
    const int left = row.there ? columns - column : 0;
    if (left <= 0) return {0, 0};
    if constexpr (WholeChunks) return {row.offset + column, count};
    return {row.offset + column, left < count ? planted<"columns past the end">(left, count) : count};
  }
  PRECAST_DEVICE T value(const Row& row, int column) const {
    return row.there && column < columns ? data[row.offset + column] : T{};
  }
};

/// Whether every row of a view begins on a multiple of 16 bytes.
template <class T>
bool rows_begin_on_16_bytes(const DeviceView<T>& view) {
  return rows_are_aligned<16 / static_cast<int>(sizeof(T))>(view);
}

/// How far past the last column a kernel's last step may reach.
inline constexpr int columns_past_the_end = 4096;
/// Columns are counted in 32 bits, as kernels divide their indices, which reach past the last column.
inline constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max() - columns_past_the_end;

/// Throws ShapeError for more than most_columns.
inline int checked_columns(std::int64_t columns) {
  if (columns > most_columns)
    throw ShapeError("a product over " + std::to_string(columns) +
                     " columns is larger than a kernel supports");
  return static_cast<int>(columns);
}

template <ScalarDtype T>
MatrixRows<T> matrix_rows(DeviceView<const T> view) {
  return {.data = pointer_to(view),
          .rows = view.rows(),
          .row_stride = view.row_stride(),
          .columns = checked_columns(view.columns()),
          .wide = rows_begin_on_16_bytes(view)};
}

}  // namespace precast::gpu
