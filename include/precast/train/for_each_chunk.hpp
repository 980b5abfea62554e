// for_each_chunk: passes over the values of a parameter, cut in the same places for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <precast/host/parallel.hpp>

namespace precast::train::detail {

/// Values of a task: enough that starting it costs nothing beside them.
inline constexpr std::size_t values_per_task = 16384;

inline std::size_t chunks_of(std::size_t count) { return (count + values_per_task - 1) / values_per_task; }

/// Calls `body(chunk, first, end)` for each chunk of [0, count), on any thread and in any order.
template <class Body>
void for_each_chunk(std::size_t count, Body&& body) {
  host::parallel_for(static_cast<std::int64_t>(chunks_of(count)), [&](std::int64_t task) {
    const auto chunk = static_cast<std::size_t>(task);
    body(chunk, chunk * values_per_task, std::min(count, (chunk + 1) * values_per_task));
  });
}

}  // namespace precast::train::detail
