// Rounding of whole matrices for a library that takes operands as they lie in memory.
#pragma once

#include <cstdint>
#include <limits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/vector_access.hpp>
#include <precast/cuda/matmul/operand_value.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

template <ScalarDtype From, ScalarDtype Held>
struct RoundedValues {
  GlobalPointer<const From> from;
  GlobalPointer<Held> to;
  std::int64_t rows, columns, from_stride, to_stride;
};

inline constexpr int round_values_threads = 256;

/// Each thread takes every n-th value of all rows. Bytes moved are the least: each value is read and written
/// once.
template <ScalarDtype Operand, ScalarDtype From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(round_values_threads, 1)
    round_values_kernel(RoundedValues<From, HeldDtype<Operand>> values) {
  const std::int64_t step = std::int64_t{grid_size().x} * round_values_threads;
  const std::int64_t count = values.rows * values.columns;
  for (std::int64_t i = std::int64_t{block_index().x} * round_values_threads + thread_index(); i < count;
       i += step) {
    const std::int64_t row = i / values.columns, column = i - row * values.columns;
    values.to[row * values.to_stride + column] =
        operand_value<Operand, false>(values.from[row * values.from_stride + column]);
  }
}

/// to = from, rounded to Operand.
template <ScalarDtype Operand, ScalarDtype From>
void round_values(const View<const From>& from, const View<HeldDtype<Operand>>& to, Stream stream) {
  constexpr std::int64_t most_blocks = 4096;
  const std::int64_t blocks = (from.elements() + round_values_threads - 1) / round_values_threads;
  launch("round_values", round_values_kernel<Operand, From>,
         {.blocks = {static_cast<int>(blocks < most_blocks ? blocks : most_blocks), 1, 1},
          .threads = round_values_threads},
         stream,
         RoundedValues<From, HeldDtype<Operand>>{global_pointer(from), global_pointer(to), from.rows(),
                                                 from.columns(), from.row_stride(), to.row_stride()});
}

}  // namespace precast::cuda
