// SmemDescriptor: a matrix in shared memory as wgmma reads it, by the matrix descriptors of the PTX ISA,
// section "Asynchronous warpgroup level matrix shared memory layout", which has the figures.
#pragma once

#include <cstdint>

#include <precast/cuda/device/swizzle.hpp>

namespace precast::gpu {

/// A matrix descriptor.
struct SmemDescriptor {
  std::uint64_t bits;
};

/// The descriptor of a matrix of 16-bit values that starts at `address`. `leading_bytes` and `stride_bytes`
/// depend on the layout (the PTX ISA: leading dimension and stride dimension byte offset). For swizzled
/// K-major rows, 64 values in 128 bytes, stride_bytes are from eight rows to the next eight, and
/// leading_bytes are unused. For MN-major rows, stride_bytes are from eight steps of depth to the next
/// eight, and leading_bytes from a row's values to those that continue it. Swizzled tiles start on a
/// multiple of eight rows; within them, the depth advances by whole chunks.
PRECAST_DEVICE SmemDescriptor smem_descriptor(std::uint32_t address, Swizzle swizzle, int leading_bytes,
                                              int stride_bytes) {
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  const std::uint64_t code = swizzle == Swizzle::none ? 0 : 4 - static_cast<std::uint64_t>(swizzle);
  return {field(address) | field(static_cast<std::uint32_t>(leading_bytes)) << 16 |
          field(static_cast<std::uint32_t>(stride_bytes)) << 32 | code << 62};
}

}  // namespace precast::gpu
