// Memory of the host that a device reads by itself.
#pragma once

#include <cstddef>

#include <precast/cuda/runtime/stream_type.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/transfer.hpp>
#else
#include <cstdint>

#include <precast/cuda/runtime/check.hpp>
#include <precast/error.hpp>
#endif

namespace precast::gpu {

/// Owns pinned memory of the host, uninitialised.
class PinnedMemory {
 public:
  /// Throws OutOfMemory.
  explicit PinnedMemory(std::size_t bytes) {
#if PRECAST_CUDA_IS_EMULATED
    data_ = simt::allocate_pinned(bytes);
#else
    check(cudaMallocHost(&data_, bytes),
          "get " + in_bytes(static_cast<std::int64_t>(bytes)) + " of pinned memory");
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
inline void start_upload(void* to, const void* from, std::size_t bytes, Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
  simt::upload_async(to, from, bytes, stream);
#else
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copy memory to the device");
#endif
}

}  // namespace precast::gpu
