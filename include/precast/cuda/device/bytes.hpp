// Values in memory as bytes, and bytes as objects: for values that are copied as bytes and read by their
// type.
#pragma once

#include <cstdint>

#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

#if PRECAST_ON_DEVICE
/// The bytes of `count` values, of which `data` is the first.
template <class T>
GlobalPointer<const unsigned char> bytes_of(const T* data, std::int64_t) {
  return reinterpret_cast<const unsigned char*>(data);
}

/// The object of type T that lies at an address, which is a multiple of T's alignment.
template <class T>
PRECAST_DEVICE const T& object_at(const unsigned char* from) {
  return *reinterpret_cast<const T*>(from);
}
#else
template <class T>
GlobalPointer<const unsigned char> bytes_of(GlobalPointer<const T> data, std::int64_t count) {
  return {reinterpret_cast<const unsigned char*>(data.base()), count * std::int64_t{sizeof(T)}, data.name()};
}

template <class T, class Byte, simt::Space S>
PRECAST_DEVICE const T& object_at(simt::Pointer<Byte, S> from) {
  return *reinterpret_cast<const T*>(from.checked_bytes(sizeof(T), alignof(T)));
}
#endif

/// Whether bytes begin on a multiple of 16.
inline bool begin_on_16_bytes(const GlobalPointer<const unsigned char>& bytes) {
#if PRECAST_ON_DEVICE
  return reinterpret_cast<std::uintptr_t>(bytes) % 16 == 0;
#else
  return reinterpret_cast<std::uintptr_t>(bytes.base()) % 16 == 0;
#endif
}

}  // namespace precast::gpu
