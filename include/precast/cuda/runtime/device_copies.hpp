// Copies to, from and within device memory, and the arrival of uploads.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>

#include <precast/cuda/runtime/arrival.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/staging.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/transfer.hpp>
#else
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::gpu {

inline void DeviceMemory::note_written(Origin& origin) {
  if (!MemoryCounter::active()) origin.arrival = Held<Arrival>(new RecordedArrival(current_stream()));
}

/// Orders later work of the current stream after all work so far of the stream that a block was taken on.
inline void DeviceMemory::wait_for_context(const Origin& origin) {
  if (MemoryCounter::active() ||
      (origin.context.stream == current_stream() && origin.device == detail::current_device()))
    return;
  std::optional<Event> given;
  {
    const detail::DeviceScope device(origin.device);  // of the block's stream
    given.emplace();
    given->record(origin.context.stream);
  }
  given->order_before(current_stream());
}

inline void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || MemoryCounter::active()) return;
#if PRECAST_CUDA_IS_EMULATED
  const simt::StreamWork work("a copy", current_stream());
  work.reads(from, bytes);
  work.writes(to, bytes);
  std::memcpy(to, from, bytes);
#else
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream()), "copy memory");
#endif
}

inline void DeviceMemory::copy_from_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || MemoryCounter::active()) return;
  const Stream stream = current_stream();
  // A graph would copy, when it is replayed, what the staging buffer holds by then.
  if (records_graph(stream))
    throw Error("values of the host cannot be uploaded as part of a CUDA graph: upload them before");
  resource_of<Staging>(stream)->upload(to, from, bytes);
}

inline void DeviceMemory::copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || MemoryCounter::active()) return;
#if PRECAST_CUDA_IS_EMULATED
  simt::download_async(to, from, bytes, current_stream());
#else
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current_stream()), "copy memory");
#endif
  wait_for(current_stream());
}

}  // namespace precast::gpu
