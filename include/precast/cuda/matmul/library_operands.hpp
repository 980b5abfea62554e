// Operands as cuBLASLt and cuDNN take them: in memory, rounded.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

template <ScalarDtype From, ScalarDtype To>
struct RoundedValues {
  GlobalPointer<const From> from;
  GlobalPointer<To> to;
  std::int64_t rows, columns, from_stride, to_stride;
};

inline constexpr int round_values_threads = 256;

/// A warp's lanes take values that lie next to each other. Bytes moved are the least: each value is read and
/// written once.
template <ScalarDtype Operand, ScalarDtype From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(round_values_threads, 1)
    round_values_kernel(RoundedValues<From, LibraryOperand<Operand>> values) {
  const std::int64_t step = std::int64_t{grid_size().x} * round_values_threads;
  const std::int64_t count = values.rows * values.columns;
  for (std::int64_t i = std::int64_t{block_index().x} * round_values_threads + thread_index(); i < count;
       i += step) {
    const std::int64_t row = i / values.columns, column = i - row * values.columns;
    const f32 value = to_f32(values.from[row * values.from_stride + column]);
    auto& to = values.to[row * values.to_stride + column];
    if constexpr (std::is_same_v<Operand, tf32>)
      to = bit_cast<f32>(tf32_word(value));
    else
      to = round_to<Operand>(value);
  }
}

/// to = from, rounded to Operand.
template <ScalarDtype Operand, ScalarDtype From>
void round_values(const DeviceView<const From>& from, const DeviceView<LibraryOperand<Operand>>& to,
                  Stream stream) {
  constexpr std::int64_t most_blocks = 4096;
  const std::int64_t blocks = ceil_divide(from.elements(), round_values_threads);
  launch("round_values", round_values_kernel<Operand, From>,
         LaunchShape{.blocks = {static_cast<int>(blocks < most_blocks ? blocks : most_blocks), 1, 1},
                     .threads = round_values_threads},
         stream,
         RoundedValues<From, LibraryOperand<Operand>>{pointer_to(from), pointer_to(to), from.rows(),
                                                      from.columns(), from.row_stride(), to.row_stride()});
}

/// A matrix as operands of a library: the values themselves where they are that already, else a rounded copy,
/// which the stream gives back when it has come to the end of this object's life.
template <ScalarDtype Operand, ScalarDtype From>
class LibraryOperands {
 public:
  using Value = LibraryOperand<Operand>;
  static constexpr bool in_place = std::is_same_v<From, Operand>;
  /// Values from one row to the next, for every row to begin on a multiple of 16 bytes.
  static std::int64_t row_stride(const DeviceView<const From>& from) {
    constexpr std::int64_t step = 16 / sizeof(Value);
    return in_place ? from.row_stride() : ceil_divide(from.columns(), step) * step;
  }

  LibraryOperands(const DeviceView<const From>& from, Stream stream) {
    if constexpr (in_place) {
      view_ = from;
    } else {
      const StreamScope scope(stream);  // of the memory
      copy_ = Tensor<Value, DeviceMemory>(Shape{from.rows(), row_stride(from)});
      const DeviceView<Value> rounded = copy_.view().columns_between(0, from.columns());
      round_values<Operand>(from, rounded, stream);
      view_ = rounded;
    }
  }

  const DeviceView<const Value>& view() const { return view_; }

 private:
  Tensor<Value, DeviceMemory> copy_;
  DeviceView<const Value> view_;
};

}  // namespace precast::gpu
