// BlockRows: a weight in blocks as the kernels of products read it, and StoredRows: a weight as it is stored.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/decode_chunk.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/tensor/block_view.hpp>

namespace precast::gpu {

/// Rows of a matrix of blocks; values outside are zero. The interface is that of MatrixRows, with f32
/// values that are decoded as they are read.
template <BlockDtype T>
struct BlockRows {
  using value_type = f32;
  static constexpr bool decoded = true;
  using Row = typename MatrixRows<f32>::Row;

  GlobalPointer<const T> data;
  std::int64_t rows, row_stride;  ///< in blocks
  int columns;
  static constexpr bool wide = false;

  PRECAST_DEVICE Row row(std::int64_t index) const {
    return {index * row_stride, planted<"row past the end">(index < rows, index <= rows)};
  }
  /// The `count` values from `column` on; zeros after the end of the row.
  PRECAST_DEVICE void decode(const Row& row, int column, int count, f32* values) const {
    const int left = row.there ? columns - column : 0;
    const int present = left < 0 ? 0 : left < count ? left : count;
    const std::int64_t first = row.offset + planted<"another block of the row">(
                                                0, column / dtype_traits<T>::values_per_block > 0 ? -1 : 0);
    if (present > 0) decode_run<T>(data + first, column, present, values);
    for (int i = present; i < count; ++i) values[i] = 0;
  }
  /// The same for a number of values known at compile time; `column` is a multiple of it.
  template <int Count>
  PRECAST_DEVICE void decode_chunk(const Row& row, int column, f32 (&values)[Count]) const {
    constexpr int in_block = dtype_traits<T>::values_per_block;
    if constexpr (in_block % Count == 0) {
      const int present = row.there ? columns - column : 0;
      const std::int64_t at =
          row.offset + planted<"another block of the row">(column / in_block, column / in_block - 1);
      if (present >= (blocks_of_one_size<T> ? 1 : Count)) {
        precast::decode_chunk<T, Count>(data[at], column % in_block, values);
      } else if constexpr (!blocks_of_one_size<T>) {
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i)
          if (i < present) precast::decode_chunk<T, 1>(data[at], column % in_block + i, values + i);
      }
      PRECAST_UNROLL
      for (int i = 0; i < Count; ++i)
        if (i >= present) values[i] = 0;
    } else {
      decode(row, column, Count, values);
    }
  }
  PRECAST_DEVICE f32 value(const Row& row, int column) const {
    f32 values[1];
    decode(row, column, 1, values);
    return values[0];
  }
};

namespace detail {
template <class T>
struct StoredRowsOf {
  using type = MatrixRows<T>;
};
template <BlockDtype T>
struct StoredRowsOf<T> {
  using type = BlockRows<T>;
};
}  // namespace detail

/// The rows of a weight that is stored as T.
template <Dtype T>
using StoredRows = typename detail::StoredRowsOf<T>::type;

template <ScalarDtype T>
MatrixRows<T> stored_rows(const DeviceView<const T>& view) {
  return matrix_rows(view);
}
template <BlockDtype T>
BlockRows<T> stored_rows(const BlockViewIn<const T, DeviceSpace>& view) {
  return {.data = global_pointer(view.data(), view.rows() * view.blocks_per_row()),
          .rows = view.rows(),
          .row_stride = view.blocks_per_row(),
          .columns = checked_columns(view.columns())};
}

}  // namespace precast::gpu
