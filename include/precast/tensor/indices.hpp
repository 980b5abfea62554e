// Indices: row numbers of a table or class numbers of logits, in the memory that an op works in.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <precast/backend.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

template <class T>
concept IndexInteger = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// A host array of indices, which ops check before they run.
template <class T>
concept HostIndices = std::convertible_to<const T&, std::span<const std::int32_t>> ||
    std::convertible_to<const T&, std::span<const std::int64_t>>;

/// Contiguous indices in a memory space: tokens that a kernel has chosen, classes of a training batch, or
/// either of them reread by a captured graph at each replay. Does not own. Ops cannot check them before
/// they run: each documents what a negative or too large index does.
template <IndexInteger T, class MemorySpace>
struct IndicesIn {
  const T* data = nullptr;
  std::int64_t count = 0;

  Shape shape() const { return {count}; }
};

inline namespace PRECAST_BACKEND {

/// Indices that this backend's ops read.
template <IndexInteger T>
using Indices = IndicesIn<T, BackendSpace>;
/// Indices of either integer type that no op has checked.
template <class T>
concept UncheckedIndices = std::same_as<T, Indices<std::int32_t>> || std::same_as<T, Indices<std::int64_t>>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
