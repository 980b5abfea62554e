// HeldBlocks: a weight in device memory, in blocks of a format that its file has chosen.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

/// The blocks of a weight [features, columns], row after row.
struct HeldBlocks {
  DtypeInfo format;
  BlockMultipliers multipliers;
  std::int64_t bytes = 0;
  BufferIn<DeviceMemory> memory;

  /// Whether this program multiplies them in the dtypes of Types, and in f32 for the watch hook.
  template <class Types>
  static bool multiplied(const BlockMultipliers& multipliers) {
    if constexpr (multiplies_blocks_of_files<Types>)
      return multipliers.of<typename Types::operand>() && (!watch::compiled || multipliers.of<f32>());
    else
      return false;
  }
};

}  // namespace precast::gpu
