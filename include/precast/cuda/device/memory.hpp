// Pointers into device memory, accesses of several values at a time, and the memory that the threads of a
// block share. On the device a pointer is a pointer; the emulator's know their bounds and name the thread
// that leaves them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// Whether values of a dtype can be moved several at once.
template <class T>
consteval bool moves_in_vectors() {
  constexpr bool moves = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4;
  static_assert(moves, "On a device a scalar dtype takes 1, 2 or 4 bytes.");
  return moves;
}

/// N values that are read or written at once: 2, 4, 8 or 16 bytes, which must lie on a multiple of their
/// size.
template <class T, int N>
struct alignas(moves_in_vectors<T>() ? sizeof(T) * N : 1) Vector {
  static_assert(!moves_in_vectors<T>() || sizeof(T) * N == 2 || sizeof(T) * N == 4 || sizeof(T) * N == 8 ||
                    sizeof(T) * N == 16,
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

/// The pointer that kernels take to `count` values at `data`.
template <class T>
GlobalPointer<T> global_pointer(T* data, std::int64_t) {
  return data;
}

namespace detail {
/// The type that one instruction loads: `Bytes` bytes.
template <int Bytes>
using LoadedWords = std::conditional_t<
    Bytes == 16, uint4,
    std::conditional_t<Bytes == 8, uint2, std::conditional_t<Bytes == 4, unsigned, unsigned short>>>;
}  // namespace detail

template <int N, class T>
PRECAST_DEVICE Vector<T, N> load_vector(const T* from) {
  using Words = detail::LoadedWords<static_cast<int>(sizeof(Vector<T, N>))>;
  return bit_cast<Vector<T, N>>(*reinterpret_cast<const Words*>(from));
}

// Stores are in PTX: nvcc splits an assignment into one store per value where the values come from one of
// two branches, as they do after load_run.
/// Writes to global memory, by one instruction.
template <class T, int N>
PRECAST_DEVICE void store_vector_global(GlobalPointer<T> to, const Vector<T, N>& values) {
  const auto address = __cvta_generic_to_global(to);
  if constexpr (sizeof(values) == 16) {
    const auto words = bit_cast<uint4>(values);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words.x), "r"(words.y),
                 "r"(words.z), "r"(words.w)
                 : "memory");
  } else if constexpr (sizeof(values) == 8) {
    const auto words = bit_cast<uint2>(values);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(words.x), "r"(words.y) : "memory");
  } else if constexpr (sizeof(values) == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(address), "r"(bit_cast<unsigned>(values)) : "memory");
  } else {
    asm volatile("st.global.b16 [%0], %1;" ::"l"(address), "h"(bit_cast<std::uint16_t>(values)) : "memory");
  }
}
/// Writes to shared memory, by one instruction: 16 bytes.
template <class T, int N>
PRECAST_DEVICE void store_vector_shared(SharedPointer<T> to, const Vector<T, N>& values) {
  static_assert(sizeof(values) == 16, "store_vector_shared: 16 bytes.");
  const auto words = bit_cast<uint4>(values);
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
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
template <class T, int N>
PRECAST_DEVICE void store_vector_global(GlobalPointer<T> to, const Vector<T, N>& values) {
  to.store_as(values);
}
template <class T, int N>
PRECAST_DEVICE void store_vector_shared(SharedPointer<T> to, const Vector<T, N>& values) {
  to.store_as(values);
}
using simt::atomic_add;
using simt::atomic_max;
#endif

#if PRECAST_ON_DEVICE
/// `count` values at a byte offset in the dynamic shared memory of the launch. The offset must be a
/// multiple of 16.
template <class T>
PRECAST_DEVICE SharedPointer<T> dynamic_shared(std::size_t byte_offset, int /*count*/) {
  extern __shared__ __align__(128) unsigned char precast_dynamic_shared[];
  return reinterpret_cast<T*>(precast_dynamic_shared + byte_offset);
}

/// A static shared array of N values; each type `Use` names an array of its own.
template <class T, int N, class Use>
PRECAST_DEVICE SharedPointer<T> static_shared() {
  __shared__ __align__(16) unsigned char bytes[sizeof(T) * N];
  return reinterpret_cast<T*>(bytes);
}

/// An address in the shared state space, as PTX instructions take it.
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

/// The bytes of dynamic shared memory to skip so that the rest starts on a multiple of Alignment: only 128
/// is guaranteed. The launch must ask for Alignment bytes more.
template <int Alignment>
PRECAST_DEVICE std::size_t padding_to() {
  return (Alignment - shared_address(dynamic_shared<unsigned char>(0, 1)) % Alignment) % Alignment;
}

}  // namespace precast::gpu
