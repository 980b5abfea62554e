// Runs a kernel: every block of a grid, every thread of a block.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include <simt/stream.hpp>

namespace simt {

/// How many blocks of how many threads, and their dynamic shared memory.
struct Grid {
  std::array<int, 3> blocks{1, 1, 1};
  int threads = 1;
  std::size_t shared_bytes = 0;
};

/// Runs `thread` once for each thread of the grid, by the options of the session, if there is one. Throws an
/// Error (errors.hpp) as soon as a thread makes a mistake; the block's other threads are unwound then. What
/// the kernel touches of the device's memory is the StreamWork's of this thread, where there is one.
void launch(const char* kernel, const Grid& grid, const std::function<void()>& thread);

}  // namespace simt
