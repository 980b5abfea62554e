// Memory of the device, from the current context's resource, in the order of its stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <precast/cuda/runtime/arrival.hpp>
#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/current_device.hpp>
#include <precast/cuda/runtime/staging.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

#if PRECAST_CUDA_IS_EMULATED
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

/// The Memory of device tensors. Everything is ordered by the thread's current stream, and memory goes back
/// in the order of the stream that took it; only copies to the host wait.
struct DeviceMemory {
  using space = DeviceSpace;
  static constexpr bool on_host = false;

  static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  /// The context that a block was taken in, and what was sent to it.
  struct Origin {
    Context context;
    int device = 0;
    std::unique_ptr<Arrival> arrival;
  };

  static void* allocate(std::size_t bytes, MemoryPurpose, Origin& origin) {
    if (DryRun* const dry = DryRun::active()) return dry->allocate(bytes, DryRun::Counts::device_memory);
    origin.context = current_context();
    origin.device = detail::current_device();
    void* const block = origin.context.memory->allocate(bytes, origin.context.stream);
    detail::DeviceUse::instance().add(static_cast<std::int64_t>(bytes));
    return block;
  }
  static void deallocate(void* block, std::size_t bytes, MemoryPurpose, const Origin& origin) noexcept {
    if (DryRun::made(block)) return DryRun::deallocate(bytes, DryRun::Counts::device_memory);
    const detail::DeviceScope device(origin.device);  // the default stream is the current device's
    origin.context.memory->deallocate(block, bytes, origin.context.stream);
    detail::DeviceUse::instance().add(-static_cast<std::int64_t>(bytes));
  }
  static void note_written(Origin& origin) {
    if (!DryRun::active()) origin.arrival = std::make_unique<Arrival>(current_stream());
  }
  static void wait_for_values(const Origin& origin) {
    if (origin.arrival) origin.arrival->order_before(current_stream());
  }

  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0 || DryRun::active()) return;
#if PRECAST_CUDA_IS_EMULATED
    const simt::StreamWork work("a copy", current_stream());
    work.reads(from, bytes);
    work.writes(to, bytes);
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
    simt::download_async(to, from, bytes, current_stream());
#else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current_stream()), "copy memory");
#endif
    wait_for(current_stream());
  }
};

using Memory = DeviceMemory;

}  // namespace precast::cuda
