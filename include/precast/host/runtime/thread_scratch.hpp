// thread_scratch: scratch memory that a thread keeps from one task to the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/host/runtime/of_thread.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

namespace precast::host {

/// Memory of the calling thread that a task may use until it ends. Grows, and is kept for the next task; each
/// `Use` is its own.
template <class Use>
std::byte* thread_scratch(std::size_t bytes) {
  auto& buffer = detail::of_thread<Buffer, Use>();
  if (buffer.capacity() < bytes) {
    buffer = Buffer();
    buffer = Buffer(bytes, MemoryPurpose::scratch);
  }
  return buffer.data();
}

/// In a dry run, counts the memory that tasks ask `thread_scratch<Use>` for.
template <class Use>
void scratch_memory(std::int64_t tasks, std::int64_t bytes) {
  if (DryRun* const dry = DryRun::active()) dry->kept_by_threads<Use>(tasks, threads(), bytes);
}

}  // namespace precast::host
