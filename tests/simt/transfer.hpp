// Copies to the device that go on while the host does other things, and the host's waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace simt {

/// Memory of the host that the device reads by itself. Freeing it waits for the copies from it.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* block) noexcept;

/// Pinned memory was written to before a copy had read it.
struct HostMemoryChanged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Starts a copy to device memory. From pinned memory it lands at once, or as late as it may, as the session
/// says: when the host waits for it, or before whatever the device does next. From other memory it has landed
/// when this returns. HostMemoryChanged is thrown where a copy lands, or by the next thing that may throw.
void start_upload(void* to, const void* from, std::size_t bytes);

/// A place in the order of uploads: those that have been started so far.
std::uint64_t mark_uploads();
/// Waits until these have landed.
void wait_for_uploads(std::uint64_t mark);
/// Waits until the device has nothing left to do.
void wait_for_device();

}  // namespace simt
