// Indices: which rows of a table, or which classes of logits, where an op's own memory has them.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <precast/backend.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

template <class T>
concept IndexInteger = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// An array of the host's of such numbers, which ops look at before they run.
template <class T>
concept HostIndices = std::convertible_to<const T&, std::span<const std::int32_t>> ||
    std::convertible_to<const T&, std::span<const std::int64_t>>;

/// Numbers in a memory space, one after another: of tokens that a kernel has chosen, of classes that a batch
/// is trained with, or of either that a captured graph reads anew each time it runs. Does not own. Ops cannot
/// look at them before they run: each says what it makes of a number that is too large or negative.
template <IndexInteger T, class MemorySpace>
struct IndicesIn {
  const T* data = nullptr;
  std::int64_t count = 0;

  Shape shape() const { return {count}; }
};

inline namespace PRECAST_BACKEND {

/// Those that this backend's ops read.
template <IndexInteger T>
using Indices = IndicesIn<T, BackendSpace>;
/// Those of either integer, which nobody has looked at.
template <class T>
concept UncheckedIndices = std::same_as<T, Indices<std::int32_t>> || std::same_as<T, Indices<std::int64_t>>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
