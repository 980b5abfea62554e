// Pointers into device memory and accesses of several values at a time. On the device a pointer is a pointer;
// the emulator's know their bounds and name the thread that leaves them.
#pragma once

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

}  // namespace precast::gpu
