// Temporary storage of CUB's algorithms.
#pragma once

#include <cstddef>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/memory/buffer.hpp>

namespace precast::gpu {

/// Calls `algorithm(scratch, bytes)` twice, as CUB's interface requires: with a null pointer, which sets
/// `bytes`, then with that many bytes of scratch.
template <class Algorithm>
void with_scratch(Algorithm&& algorithm) {
  std::size_t bytes = 0;
  algorithm(nullptr, bytes);
  const BufferIn<Memory> scratch(bytes);
  algorithm(scratch.data(), bytes);
}

}  // namespace precast::gpu
