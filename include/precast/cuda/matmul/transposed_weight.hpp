// transposed: the weight of a product x W^T as a product y W takes it.
#pragma once

#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::gpu {

/// to [columns, rows] = from [rows, columns]^T; values of blocks are decoded and rounded. Defined in
/// transpose.hpp, for units that hold kernels.
template <ScalarDtype T>
void transpose(DeviceView<const T> from, DeviceView<T> to, Stream stream);
template <bool Saturates, BlockDtype T, ScalarDtype To>
void transpose_decoded(BlockViewIn<const T, DeviceSpace> from, DeviceView<To> to, Stream stream);

/// A weight transposed on the device, [columns, features], for products with `Types`, whose storage may
/// differ from the weight's: values of blocks are decoded, and rounded to it.
template <class Types, Dtype Storage>
PackedWeight<typename Types::storage> transposed(const PackedWeight<Storage>& weight) {
  using To = typename Types::storage;
  return PackedWeight<To>::written(Shape{weight.columns(), weight.features()}, [&](DeviceView<To> to) {
    if constexpr (BlockDtype<Storage>)
      transpose_decoded<Types::saturate>(weight.view(), to, current_stream());
    else
      transpose(weight.view(), to, current_stream());
  });
}

}  // namespace precast::gpu
