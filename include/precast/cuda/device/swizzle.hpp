// The swizzle by which the TMA and wgmma permute chunks of 16 bytes in shared memory, so that a column of
// chunks is spread over all banks.
#pragma once

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

#if PRECAST_ON_DEVICE
/// The span in bytes within which chunks are permuted, by the index of their 128-byte line counted from
/// address 0.
enum class Swizzle { none, of_32_bytes, of_64_bytes, of_128_bytes };
#else
using simt::Swizzle;
#endif

/// The bytes of a row that a swizzle permutes.
constexpr int swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 16 : 16 << static_cast<int>(swizzle);
}

}  // namespace precast::gpu
