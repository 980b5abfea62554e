// Rows to columns.
#pragma once

#include <cstdint>

#include <precast/cuda/device/barrier.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

namespace detail {

/// The side of the square that a block turns over: a warp reads and writes whole lines of memory.
inline constexpr int turned_side = 32;
inline constexpr int turning_threads = 256;

template <class T>
struct MatrixToTurn {
  GlobalPointer<const T> from;
  GlobalPointer<T> to;
  std::int64_t rows, columns, from_stride, to_stride;
};

struct TurnedSquare;

/// Reads and writes each value once: 2 sizeof(T) bytes, the least there is.
template <class T>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(turning_threads, 4) transpose_kernel(MatrixToTurn<T> matrix) {
  constexpr int side = turned_side, step = turning_threads / side;
  constexpr int pitch = side + 1;  // one more than there are banks, so that a column is in all of them
  const auto square = static_shared<T, side * pitch, TurnedSquare>();
  const std::int64_t column = static_cast<std::int64_t>(block_index().x) * side;
  const std::int64_t row = static_cast<std::int64_t>(block_index().y) * side;
  const int lane = thread_index() % side;
  for (int i = thread_index() / side; i < side; i += step)
    if (row + i < matrix.rows && column + lane < matrix.columns)
      square[i * pitch + lane] = matrix.from[(row + i) * matrix.from_stride + column + lane];
  sync_block();
  for (int i = thread_index() / side; i < side; i += step)
    if (column + i < matrix.columns && row + lane < matrix.rows)
      matrix.to[(column + i) * matrix.to_stride + row + lane] = square[lane * pitch + i];
}

}  // namespace detail

/// to [columns, rows] = from [rows, columns]^T.
template <ScalarDtype T>
void transpose(View<const T> from, View<T> to, Stream stream = current_stream()) {
  if (from.elements() == 0) return;
  const auto squares = [](std::int64_t count) {
    return static_cast<int>((count + detail::turned_side - 1) / detail::turned_side);
  };
  const auto span_of = [](const auto& view) {
    return (view.rows() - 1) * view.row_stride() + view.columns();
  };
  const detail::MatrixToTurn<T> matrix{global_pointer(from.data(), span_of(from)),
                                       global_pointer(to.data(), span_of(to)),
                                       from.rows(),
                                       from.columns(),
                                       from.row_stride(),
                                       to.row_stride()};
  launch("transpose", detail::transpose_kernel<T>,
         {{squares(from.columns()), squares(from.rows()), 1}, detail::turning_threads, 0}, stream, matrix);
}

}  // namespace precast::cuda
