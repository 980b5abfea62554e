// Memory that the threads of a block share.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/device/memory.hpp>

namespace precast::gpu {

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

/// The address by which instructions know a place in shared memory.
template <class T>
PRECAST_DEVICE std::uint32_t shared_address(const T* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
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
using simt::shared_address;
#endif

/// How many bytes of dynamic shared memory to pass over, so that the rest starts on a multiple of Alignment:
/// 128 is all that is promised. A launch asks for Alignment bytes more.
template <int Alignment>
PRECAST_DEVICE std::size_t padding_to() {
  return (Alignment - shared_address(dynamic_shared<unsigned char>(0, 1)) % Alignment) % Alignment;
}

}  // namespace precast::gpu
