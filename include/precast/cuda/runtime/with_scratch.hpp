// Memory that algorithms of CUB take while they run.
#pragma once

#include <cstddef>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/memory/buffer.hpp>

namespace precast::gpu {

/// Calls `algorithm(scratch, bytes)` twice, as CUB's want it: with no scratch, to be told how many bytes it
/// takes, and with so many.
template <class Algorithm>
void with_scratch(Algorithm&& algorithm) {
  std::size_t bytes = 0;
  algorithm(nullptr, bytes);
  const BufferIn<Memory> scratch(bytes);
  algorithm(scratch.data(), bytes);
}

}  // namespace precast::gpu
