// turned: the weight of a product x W^T as a product y W takes it.
#pragma once

#include <type_traits>

#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::cuda {

/// A weight of scalars turned over on the device, [columns, features].
template <class Types, Dtype Storage>
PackedWeight<typename Types::storage> turned(const PackedWeight<Storage>& weight) {
  static_assert(std::is_same_v<Storage, typename Types::storage>,
                "turned: weights in blocks are turned over on the host alone so far.");
  return PackedWeight<Storage>::written(Shape{weight.columns(), weight.features()},
                                        [&](DeviceView<Storage> to) { transpose(weight.view(), to); });
}

}  // namespace precast::cuda
