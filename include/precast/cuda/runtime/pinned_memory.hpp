// Memory of the host that a device reads by itself, and the point in its work that says when it has.
#pragma once

#include <cstddef>

#include <precast/cuda/runtime/stream.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/transfer.hpp>
#else
#include <string>

#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

/// Owns pinned memory of the host, uninitialised.
class PinnedMemory {
 public:
  /// Throws OutOfMemory.
  explicit PinnedMemory(std::size_t bytes) {
#if PRECAST_CUDA_IS_EMULATED
    data_ = simt::allocate_pinned(bytes);
#else
    check(cudaMallocHost(&data_, bytes), "get " + std::to_string(bytes >> 20) + " MiB of pinned memory");
#endif
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
#if PRECAST_CUDA_IS_EMULATED
    simt::free_pinned(data_);
#else
    (void)cudaFreeHost(data_);
#endif
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

/// Starts a copy from pinned memory to the device, in the order of the stream. The memory must stay as it is
/// until the device has read it.
inline void start_upload(void* to, const void* from, std::size_t bytes, [[maybe_unused]] Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
  simt::start_upload(to, from, bytes);
#else
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copy memory to the device");
#endif
}

/// A point in the work of a stream.
class Event {
 public:
#if PRECAST_CUDA_IS_EMULATED
  Event() = default;
#else
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
#endif
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// The point is behind all that the stream has been given so far.
  void record([[maybe_unused]] Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
    event_ = simt::mark_uploads();
#else
    check(cudaEventRecord(event_, stream), "record an event");
#endif
    recorded_ = true;
  }
  /// Returns when the device has come to the point; at once where none was recorded.
  void wait() {
    if (!recorded_) return;
#if PRECAST_CUDA_IS_EMULATED
    simt::wait_for_uploads(event_);
#else
    check(cudaEventSynchronize(event_), "finish its work");
#endif
  }

 private:
#if PRECAST_CUDA_IS_EMULATED
  std::uint64_t event_ = 0;
#else
  cudaEvent_t event_ = nullptr;
#endif
  bool recorded_ = false;
};

}  // namespace precast::cuda
