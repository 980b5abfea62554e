// Pointers into device memory, accesses of several values at a time, and the memory that the threads of a
// block share. On the device a pointer is a pointer; the emulator's know their bounds and name the thread
// that leaves them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// N values that are read or written at once: 4, 8 or 16 bytes, which must lie on a multiple of their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  static_assert(sizeof(T) * N == 2 || sizeof(T) * N == 4 || sizeof(T) * N == 8 || sizeof(T) * N == 16,
                "Vector: one access moves 2, 4, 8 or 16 bytes.");
  T values[N];
  PRECAST_HOST_DEVICE constexpr T& operator[](int i) { return values[i]; }
  PRECAST_HOST_DEVICE constexpr const T& operator[](int i) const { return values[i]; }
};

/// The widest vector of a dtype.
template <class T>
inline constexpr int widest_vector = 16 / static_cast<int>(sizeof(T));

#if PRECAST_ON_DEVICE
template <class T>
using GlobalPointer = T*;
template <class T>
using SharedPointer = T*;

/// What kernels are given for `count` values at `data`.
template <class T>
GlobalPointer<T> global_pointer(T* data, std::int64_t) {
  return data;
}

template <int N, class T>
PRECAST_DEVICE Vector<T, N> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <class T, int N>
PRECAST_DEVICE void store_vector(T* to, const Vector<T, N>& values) {
  *reinterpret_cast<Vector<T, N>*>(to) = values;
}

/// Adds to a value in memory, for all threads of the grid; returns what was there. The order of f32 additions
/// is not defined: deterministic kernels do not use it for sums.
template <class T>
PRECAST_DEVICE T atomic_add(T* at, T value) {
  return atomicAdd(at, value);
}
template <class T>
PRECAST_DEVICE T atomic_max(T* at, T value) {
  return atomicMax(at, value);
}
#else
template <class T>
using GlobalPointer = simt::Pointer<T, simt::Space::global>;
template <class T>
using SharedPointer = simt::Pointer<T, simt::Space::shared>;

template <class T>
GlobalPointer<T> global_pointer(T* data, std::int64_t count) {
  return {data, count};
}

template <int N, class T, simt::Space S>
PRECAST_DEVICE auto load_vector(simt::Pointer<T, S> from) {
  return from.template load_as<Vector<std::remove_const_t<T>, N>>();
}
template <class T, int N, simt::Space S>
PRECAST_DEVICE void store_vector(simt::Pointer<T, S> to, const Vector<T, N>& values) {
  to.store_as(values);
}
using simt::atomic_add;
using simt::atomic_max;
#endif

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
