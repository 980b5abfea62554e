// Staging: uploads through pinned buffers, so that neither host nor device waits for the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>

#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/pinned_memory.hpp>
#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu {

/// Uploads of one stream (resource_of<Staging>) through two buffers of pinned memory: the host fills one
/// while the device reads the other, and waits only where both are full. Small values share a buffer. Any
/// thread may upload.
class Staging {
 public:
  /// Large enough for the device to be busy longer than it takes to start a copy.
  static constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

  explicit Staging(Stream stream) : stream_(stream) {}

  /// Starts copying `bytes` bytes of the host to the device. They have been read when this returns. Not for
  /// a stream that records a graph.
  void upload(void* to, const void* from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t done = 0; done < bytes;) {
      if (buffers_[filling_].used == buffer_bytes) swap_buffers();
      Buffer& buffer = buffers_[filling_];
      const std::size_t count = std::min(bytes - done, buffer_bytes - buffer.used);
      std::byte* const place = buffer.memory.data() + buffer.used;
      std::memcpy(place, static_cast<const std::byte*>(from) + done, count);
      gpu::start_upload(static_cast<std::byte*>(to) + done, place, count, stream_);
      buffer.used = std::min(buffer_bytes, aligned(buffer.used + count));
      done += count;
    }
  }

 private:
  struct Buffer {
    PinnedMemory memory{buffer_bytes};
    std::size_t used = 0;
    Event read;  ///< when the device has read all of it
  };

  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  /// Goes on to the other buffer.
  void swap_buffers() {
    buffers_[filling_].read.record(stream_);
    filling_ = 1 - filling_;
    buffers_[filling_].read.wait();
    buffers_[filling_].used = 0;
  }

  Stream stream_;
  std::mutex mutex_;
  std::array<Buffer, 2> buffers_;
  std::size_t filling_ = 0;
};

}  // namespace precast::gpu
