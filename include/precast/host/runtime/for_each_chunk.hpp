// for_each_chunk: passes over the values of a parameter, cut in the same places for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <precast/dtype/host_device.hpp>
#include <precast/host/runtime/parallel.hpp>

namespace precast::host {

/// Values of a chunk: enough that the cost of starting a task is negligible.
inline constexpr std::size_t values_of_chunk = 16384;

inline std::size_t chunks_of(std::size_t count) { return ceil_divide(count, values_of_chunk); }

/// Calls `body(chunk, first, end)` for each chunk of [0, count), on any thread and in any order.
template <class Body>
void for_each_chunk(std::size_t count, Body&& body) {
  parallel_for(static_cast<std::int64_t>(chunks_of(count)), [&](std::int64_t task) {
    const auto chunk = static_cast<std::size_t>(task);
    body(chunk, chunk * values_of_chunk, std::min(count, (chunk + 1) * values_of_chunk));
  });
}

}  // namespace precast::host
