// Workspace: memory of a stream in which a library works.
#pragma once

#include <cstddef>
#include <mutex>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/device_memory.hpp>
#else
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::gpu {

/// Memory that successive library calls of a stream share (resource_of): allocated at the first use, kept
/// until the stream ends, and counted with what tensors hold. Not from a pool.
class Workspace {
 public:
  explicit Workspace(Stream stream) : stream_(stream) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { release(); }

  /// At least `bytes` bytes, or null for 0. Throws OutOfMemory, and Error where it is not large enough yet
  /// while the stream records a graph, during which CUDA allows no cudaMalloc.
  void* of(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes <= bytes_) return data_;
    if (records_graph(stream_))
      throw Error(
          "a workspace cannot be allocated as part of a CUDA graph: run the work once before it is captured");
    release();
#if PRECAST_CUDA_IS_EMULATED
    data_ = simt::allocate_device(bytes, stream_);
#else
    check(cudaMalloc(&data_, bytes), "get a workspace");
#endif
    bytes_ = bytes;
    detail::DeviceUse::instance().add(static_cast<std::int64_t>(bytes_));
    return data_;
  }

 private:
  void release() noexcept {
    if (!data_) return;
#if PRECAST_CUDA_IS_EMULATED
    simt::free_device(data_, bytes_, stream_);
#else
    (void)cudaFree(data_);  // fails only where an earlier error has been thrown already
#endif
    detail::DeviceUse::instance().add(-static_cast<std::int64_t>(bytes_));
    data_ = nullptr;
    bytes_ = 0;
  }

  std::mutex mutex_;
  Stream stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace precast::gpu
