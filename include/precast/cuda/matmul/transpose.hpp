// Rows to columns on the device.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/barrier.hpp>
#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/problem/product_kernels.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

namespace detail {

template <class T>
struct Transposed {
  GlobalPointer<const T> from;
  GlobalPointer<T> to;
  std::int64_t rows, columns, from_stride, to_stride;
};

inline constexpr int transposed_side = 32, transposed_threads = 256;

/// A block turns a square over in shared memory, so that both sides are read and written row by row: the
/// bytes moved are the least. The square's rows lie one value farther apart, for its columns to be in banks
/// of their own.
template <class T>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(transposed_threads, 1) transpose_kernel(Transposed<T> matrix) {
  constexpr int side = transposed_side, stride = side + 1, lines = transposed_threads / side;
  const auto square = static_shared<T, side * stride, struct TransposedSquare>();
  const int lane = thread_index() % side, line = thread_index() / side;
  const std::int64_t first_row = std::int64_t{block_index().y} * side;
  const std::int64_t first_column = std::int64_t{block_index().x} * side;
  for (int i = line; i < side; i += lines)
    if (first_row + i < matrix.rows &&
        first_column + lane < planted<"column edge">(matrix.columns, matrix.columns - 1))
      square[i * stride + lane] = matrix.from[(first_row + i) * matrix.from_stride + first_column + lane];
  sync_block();
  for (int i = line; i < side; i += lines)
    if (first_column + i < matrix.columns && first_row + lane < matrix.rows)
      matrix.to[(first_column + i) * matrix.to_stride + first_row + lane] = square[lane * stride + i];
}

}  // namespace detail

/// to [columns, rows] = from [rows, columns]^T.
template <ScalarDtype T>
void transpose(DeviceView<const T> from, DeviceView<T> to, Stream stream) {
  constexpr std::int64_t side = detail::transposed_side, most_blocks = 65535;
  const std::int64_t row_blocks = (from.rows() + side - 1) / side;
  const std::int64_t column_blocks = (from.columns() + side - 1) / side;
  // The grid's second dimension ends early: tall matrices are turned over band by band.
  for (std::int64_t first = 0; first < row_blocks; first += most_blocks) {
    const std::int64_t blocks = row_blocks - first < most_blocks ? row_blocks - first : most_blocks;
    const std::int64_t rows =
        from.rows() - first * side < blocks * side ? from.rows() - first * side : blocks * side;
    const auto band = from.rows_between(first * side, rows);
    const auto turned = to.columns_between(first * side, rows);
    launch("transpose", detail::transpose_kernel<T>,
           {.blocks = {static_cast<int>(column_blocks), static_cast<int>(blocks), 1},
            .threads = detail::transposed_threads},
           stream,
           detail::Transposed<T>{pointer_to(band), pointer_to(turned), rows, from.columns(),
                                 from.row_stride(), to.row_stride()});
  }
}

}  // namespace precast::cuda
