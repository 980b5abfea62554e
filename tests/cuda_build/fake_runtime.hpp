// A CUDA runtime without a device, for what a program says to it before a device does anything: nothing runs.
// Streams and graphs are numbers.
#pragma once

#include <cstddef>

namespace fake_runtime {

/// The current device, and what kernels have of static shared memory.
inline int device = 0;
inline std::size_t static_bytes = 0;

/// Whether devices have pools of memory, and whether they start.
inline bool has_pools = true, starts = true;

/// Whether a new stream has the handle of one that has ended.
inline bool uses_handles_again = false;

/// Whether the device has come to every event.
inline bool work_is_over = false;

/// How often kernels were given more shared memory than they have without asking.
int times_asked_for_more();

/// How many graphs there are, and how often one was launched on another stream than it was recorded on.
int graphs();
int graphs_on_other_streams();
/// How many streams there are, and how often a call named one that was no more.
int streams();
int calls_with_ended_streams();
/// How often pinned memory was freed that a stream had yet to read.
int freed_before_read();
/// How often a stream was told to wait for another.
int waits_of_streams();

}  // namespace fake_runtime
