// Memory of the device, from CUDA's stream-ordered pool: what is freed on a stream is there again for what
// the stream does next, without waiting for anything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <precast/cuda/runtime/staging.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/tensor/memory.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/device_memory.hpp>
#include <simt/transfer.hpp>
#else
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

namespace detail {

struct DeviceUse {
  std::atomic<std::int64_t> in_use{0}, peak{0};
  static DeviceUse& instance() {
    static DeviceUse use;
    return use;
  }
  void add(std::int64_t bytes) {
    const std::int64_t now = in_use += bytes;
    std::int64_t most = peak;
    while (now > most && !peak.compare_exchange_weak(most, now)) {
    }
  }
};

}  // namespace detail

/// What device tensors hold now and held at most since the start or the last reset.
inline MemoryUse memory_use() {
  const auto& use = detail::DeviceUse::instance();
  return {.in_use = use.in_use, .peak = use.peak};
}
inline void reset_peak_memory() {
  auto& use = detail::DeviceUse::instance();
  use.peak = use.in_use.load();
}

/// The Memory of device tensors. Everything is ordered by the thread's current stream; only copies to the
/// host wait for it.
struct DeviceMemory {
  using space = DeviceSpace;
  static constexpr bool on_host = false;

  static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  static void* allocate(std::size_t bytes, MemoryPurpose) {
    if (DryRun* const dry = DryRun::active()) return dry->allocate(bytes, DryRun::Counts::device_memory);
    void* block = nullptr;
#if !PRECAST_CUDA_IS_EMULATED
    check(cudaMallocAsync(&block, bytes, current_stream()),
          "get " + std::to_string(bytes >> 20) + " MiB of device memory");
#else
    block = simt::allocate_device(bytes);
#endif
    detail::DeviceUse::instance().add(static_cast<std::int64_t>(bytes));
    return block;
  }

  static void deallocate(void* block, [[maybe_unused]] std::size_t bytes, MemoryPurpose) noexcept {
    if (DryRun::made(block)) return DryRun::deallocate(bytes, DryRun::Counts::device_memory);
#if !PRECAST_CUDA_IS_EMULATED
    (void)cudaFreeAsync(block,
                        current_stream());  // fails only where an earlier error has been thrown already
#else
    simt::free_device(block, bytes);
#endif
    detail::DeviceUse::instance().add(-static_cast<std::int64_t>(bytes));
  }

  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0 || DryRun::active()) return;
#if PRECAST_CUDA_IS_EMULATED
    const simt::DeviceAccess access;
    std::memcpy(to, from, bytes);
#else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream()), "copy memory");
#endif
  }
  /// The host's values have been read when this returns; it waits only where the stream's staging is full.
  static void copy_from_host(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0 && !DryRun::active()) resource_of<Staging>(current_stream()).upload(to, from, bytes);
  }
  /// Waits until the values are there.
  static void copy_to_host(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0 || DryRun::active()) return;
#if PRECAST_CUDA_IS_EMULATED
    simt::wait_for_device();
    const simt::DeviceAccess access;
    std::memcpy(to, from, bytes);
#else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current_stream()), "copy memory");
    check(cudaStreamSynchronize(current_stream()), "finish its work");
#endif
  }
};

using Memory = DeviceMemory;

}  // namespace precast::cuda
