// The default number of threads.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <sched.h>

#include <precast/error.hpp>

namespace precast::host {

/// The most threads that can be asked for.
inline constexpr int most_threads = 1024;

/// The cores that this process may run on, at least 1: its affinity mask, as taskset, mpirun --bind-to or
/// Slurm set it, which std::thread::hardware_concurrency does not read.
inline int available_cores() {
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  // The kernel refuses a set that is smaller than its own, with EINVAL.
  for (std::size_t cores = 1024; cores <= (std::size_t{1} << 20); cores *= 2) {
    const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(cores));
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cores);
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      const int count = CPU_COUNT_S(bytes, set.get());
      if (count > 0) return count;
      break;
    }
    if (errno != EINVAL) break;
  }
  const unsigned all = std::thread::hardware_concurrency();
  return all > 0 ? static_cast<int>(all) : 1;
}

/// The value of the environment variable PRECAST_THREADS, or without it the cores that this process may
/// use. Throws Error where it is set to anything but a number from 1 to 1024.
inline int default_threads() {
  const char* const set = std::getenv("PRECAST_THREADS");
  const std::string_view text = set ? set : "";
  if (text.empty()) return std::min(available_cores(), most_threads);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > most_threads)
    throw Error("the environment variable PRECAST_THREADS is '" + std::string(text) +
                "': set it to a number of threads from 1 to " + std::to_string(most_threads) +
                ", or unset it");
  return count;
}

}  // namespace precast::host
