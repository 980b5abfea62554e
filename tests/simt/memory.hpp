// Memory that the threads of a block share: of exact size, and full of NaN when a block starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <typeinfo>

#include <simt/pointer.hpp>

namespace simt {

namespace detail {
/// An array of the running block that belongs to `use`, made by the first thread that asks.
void* static_shared(const std::type_info& use, std::size_t bytes);
std::uint32_t shared_address(const void* address);
/// Part of what the launch asked for, after a check of its place.
void* dynamic_shared(std::size_t offset, std::size_t bytes, std::size_t alignment);
template <class T, int N, class Use>
struct StaticArray;  // names an array: one for each T, N and Use, as on the device
}  // namespace detail

template <class T, int N, class Use>
Pointer<T, Space::shared> static_shared() {
  static_assert(N > 0);
  const std::type_info& use = typeid(detail::StaticArray<T, N, Use>*);
  return {static_cast<T*>(detail::static_shared(use, sizeof(T) * N)), N, "static_shared"};
}

/// The address by which instructions know a place in shared memory.
template <class T>
std::uint32_t shared_address(Pointer<T, Space::shared> at) {
  return detail::shared_address(Pointer<const T, Space::shared>(at).checked_bytes(1, 1));
}

template <class T>
Pointer<T, Space::shared> dynamic_shared(std::size_t byte_offset, std::int64_t count) {
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  return {static_cast<T*>(detail::dynamic_shared(byte_offset, bytes, alignof(T))), count, "dynamic_shared"};
}

}  // namespace simt
