// Transposes matrices on the device.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

namespace detail {

/// A source of scalars, unchanged.
template <class T>
struct GivenValues {
  using value_type = T;
  GlobalPointer<const T> from;
  std::int64_t stride;
  PRECAST_DEVICE T at(std::int64_t row, std::int64_t column) const { return from[row * stride + column]; }
};
/// A source of values decoded from blocks and rounded to To: one at a time, which is slow, once per weight.
template <class T, class To, bool Saturates>
struct DecodedValues {
  using value_type = To;
  BlockRows<T> from;
  PRECAST_DEVICE To at(std::int64_t row, std::int64_t column) const {
    return round_to<To, Saturates>(from.value(from.row(row), static_cast<int>(column)));
  }
};

/// The rows of `source` from `first_row` on, and the matrix that they become the columns of.
template <class Source>
struct Transposed {
  Source source;
  GlobalPointer<typename Source::value_type> to;
  std::int64_t first_row, rows, columns, to_stride;
};

inline constexpr int transposed_side = 32, transposed_threads = 256;

/// A block transposes a square in padded shared memory, so that both sides are read and written by rows:
/// the fewest bytes are moved. The stride of the square's rows is one value more than its side, which puts
/// the values of a column in different banks.
template <class Source>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(transposed_threads, 1) transpose_kernel(Transposed<Source> matrix) {
  using T = typename Source::value_type;
  constexpr int side = transposed_side, stride = side + 1, lines = transposed_threads / side;
  const auto square = static_shared<T, side * stride, struct TransposedSquare>();
  const int lane = thread_index() % side, line = thread_index() / side;
  const std::int64_t first_row = std::int64_t{block_index().y} * side;
  const std::int64_t first_column = std::int64_t{block_index().x} * side;
  for (int i = line; i < side; i += lines)
    if (first_row + i < matrix.rows &&
        first_column + lane < planted<"column edge">(matrix.columns, matrix.columns - 1))
      square[i * stride + lane] = matrix.source.at(matrix.first_row + first_row + i, first_column + lane);
  sync_block();
  for (int i = line; i < side; i += lines)
    if (first_column + i < matrix.columns && first_row + lane < matrix.rows)
      matrix.to[(first_column + i) * matrix.to_stride + first_row + lane] = square[lane * stride + i];
}

template <class Source>
void transpose(const char* name, const Source& source, std::int64_t all_rows, std::int64_t columns,
               const DeviceView<typename Source::value_type>& to, Stream stream) {
  constexpr std::int64_t side = transposed_side, most_blocks = 65535;
  const std::int64_t row_blocks = ceil_divide(all_rows, side);
  const std::int64_t column_blocks = ceil_divide(columns, side);
  // The grid's y dimension is limited to 65535: taller matrices are transposed band by band.
  for (std::int64_t first = 0; first < row_blocks; first += most_blocks) {
    const std::int64_t blocks = row_blocks - first < most_blocks ? row_blocks - first : most_blocks;
    const std::int64_t left = all_rows - first * side, rows = left < blocks * side ? left : blocks * side;
    const auto transposed = to.columns_between(first * side, rows);
    launch(name, transpose_kernel<Source>,
           LaunchShape{.blocks = {grid_blocks(column_blocks), static_cast<int>(blocks), 1},
                       .threads = transposed_threads},
           stream,
           Transposed<Source>{source, pointer_to(transposed), first * side, rows, columns, to.row_stride()});
  }
}

}  // namespace detail

/// to [columns, rows] = from [rows, columns]^T.
template <ScalarDtype T>
void transpose(DeviceView<const T> from, DeviceView<T> to, Stream stream) {
  detail::transpose("transpose", detail::GivenValues<T>{pointer_to(from), from.row_stride()}, from.rows(),
                    from.columns(), to, stream);
}
/// The same, into a new tensor.
template <ScalarDtype T>
Tensor<T, Memory> transposed_over(DeviceView<const T> from, Stream stream) {
  Tensor<T, Memory> to(Shape{from.columns(), from.rows()});
  transpose(from, to.view(), stream);
  return to;
}
/// The same for a matrix in blocks, whose values are decoded and rounded.
template <bool Saturates, BlockDtype T, ScalarDtype To>
void transpose_decoded(BlockViewIn<const T, DeviceSpace> from, DeviceView<To> to, Stream stream) {
  detail::transpose("transpose_decoded", detail::DecodedValues<T, To, Saturates>{stored_rows(from)},
                    from.rows(), from.columns(), to, stream);
}

}  // namespace precast::gpu
