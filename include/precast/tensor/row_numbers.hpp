// RowNumbers: which rows of a table, where an op's own memory has them.
#pragma once

#include <concepts>
#include <cstdint>

#include <precast/backend.hpp>

namespace precast {

template <class T>
concept RowNumber = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// The numbers of rows of a table, in a memory space, one after another: those of tokens that a kernel has
/// chosen, or that a captured graph reads anew each time it runs. Does not own. Ops cannot look at them
/// before they run: each says what it makes of a number that is no row's.
template <RowNumber T, class MemorySpace>
struct RowNumbersIn {
  const T* data = nullptr;
  std::int64_t count = 0;
};

inline namespace PRECAST_BACKEND {

/// Those that this backend's ops read.
template <RowNumber T>
using RowNumbers = RowNumbersIn<T, BackendSpace>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
