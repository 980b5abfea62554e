// MemoryResource: where memory of the device comes from. The device's own pool, or a program's allocator.
#pragma once

#include <cstddef>

#include <precast/cuda/runtime/stream_type.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/device_memory.hpp>
#else
#include <string>
#endif

namespace precast::gpu {

/// Gives memory of the device in the order of streams. A program with an allocator of its own derives from
/// this, and names it in a Context; it must outlive the memory that was taken from it. Any thread may call.
class MemoryResource {
 public:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;
  virtual ~MemoryResource() = default;

  /// Memory on a multiple of 256 bytes, for what the stream is given from now on. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  /// Takes it back: the stream may still be at work on it, and nobody else. `bytes` are those asked for.
  virtual void deallocate(void* block, std::size_t bytes, Stream stream) noexcept = 0;
};

namespace detail {

class DevicePool final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes, Stream stream) override {
#if PRECAST_CUDA_IS_EMULATED
    return simt::allocate_device(bytes, stream);
#else
    void* block = nullptr;
    if (const cudaError_t status = cudaMallocAsync(&block, bytes, stream); status != cudaSuccess)
      check(status, "get " + std::to_string(bytes >> 20) + " MiB of device memory");
    return block;
#endif
  }
  void deallocate(void* block, [[maybe_unused]] std::size_t bytes, Stream stream) noexcept override {
#if PRECAST_CUDA_IS_EMULATED
    simt::free_device(block, bytes, stream);
#else
    (void)cudaFreeAsync(block, stream);  // fails only where an earlier error has been thrown already
#endif
  }
};

}  // namespace detail

/// The stream-ordered pool of the device that a thread works on: what is freed on a stream is there again for
/// what the stream does next, without waiting for anything.
inline MemoryResource& device_pool() {
  static auto* const pool = new detail::DevicePool;  // at exit others may still give memory back
  return *pool;
}

}  // namespace precast::gpu
