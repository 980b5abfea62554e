// A CUDA runtime without a device, for what a program says to it before a device does anything: nothing runs.
#pragma once

#include <cstddef>

namespace fake_runtime {

/// The current device, and what kernels have of static shared memory.
inline int device = 0;
inline std::size_t static_bytes = 0;

/// How often kernels were given more shared memory than they have without asking.
int times_asked_for_more();

}  // namespace fake_runtime
