// Memory that the threads of a block share.
#pragma once

#include <cstddef>

#include <precast/cuda/device/memory.hpp>

namespace precast::cuda {

#if PRECAST_ON_DEVICE
/// `count` values from a byte offset on in the shared memory that the launch asked for. The offset must be a
/// multiple of 16.
template <class T>
PRECAST_DEVICE SharedPointer<T> dynamic_shared(std::size_t byte_offset, int /*count*/) {
  extern __shared__ __align__(128) unsigned char precast_dynamic_shared[];
  return reinterpret_cast<T*>(precast_dynamic_shared + byte_offset);
}

/// N values whose number is known when the kernel is compiled; each `Use` is an array of its own.
template <class T, int N, class Use>
PRECAST_DEVICE SharedPointer<T> static_shared() {
  __shared__ __align__(16) unsigned char bytes[sizeof(T) * N];
  return reinterpret_cast<T*>(bytes);
}
#else
template <class T>
PRECAST_DEVICE SharedPointer<T> dynamic_shared(std::size_t byte_offset, int count) {
  return simt::dynamic_shared<T>(byte_offset, count);
}
template <class T, int N, class Use>
PRECAST_DEVICE SharedPointer<T> static_shared() {
  return simt::static_shared<T, N, Use>();
}
#endif

}  // namespace precast::cuda
