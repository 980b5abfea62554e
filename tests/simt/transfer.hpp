// Copies to and from the device that go on while the host does other things.
#pragma once

#include <cstddef>
#include <stdexcept>

#include <simt/stream.hpp>

namespace simt {

/// Memory of the host that the device reads by itself. Freeing it waits for the copies from it.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* block) noexcept;

/// Pinned memory was written to before a copy had read it.
struct HostMemoryChanged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Starts a copy to device memory. From pinned memory it lands at once, or as late as it may, as the session
/// says: when the host waits for it, or before work that is ordered behind it. From other memory it has
/// landed when this returns. HostMemoryChanged is thrown where a copy lands, or by the next thing that may
/// throw.
void upload_async(void* to, const void* from, std::size_t bytes, Stream stream);

/// Starts a copy to memory of the host, which holds NaN until the host has waited for it, or lands at once,
/// as the session says.
void download_async(void* to, const void* from, std::size_t bytes, Stream stream);

}  // namespace simt
