// Memory of the device, from the current context's resource, in the order of its stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/backend.hpp>
#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/memory/held.hpp>
#include <precast/memory/memory_counter.hpp>

namespace precast::gpu {

namespace detail {

struct DeviceUse {
  SharedCount in_use, peak;
  static DeviceUse& instance() {
    static DeviceUse use;
    return use;
  }
  void add(std::int64_t bytes) { peak.raise_to(in_use.add(bytes)); }
};

}  // namespace detail

/// Bytes that device tensors hold now, and the most that they held since the start or the last reset.
inline MemoryUse memory_use() {
  const auto& use = detail::DeviceUse::instance();
  // Scratch is counted as tensors are, and the pool is the driver's.
  const std::int64_t peak = use.peak.value();
  return {.in_use = use.in_use.value(), .peak = peak, .most_held = peak};
}
inline void reset_peak_memory() {
  auto& use = detail::DeviceUse::instance();
  use.peak.set(use.in_use.value());
}

/// The arrival of uploaded values, for streams other than the one that uploads them (arrival.hpp).
class Arrival : public Holdable {
 public:
  /// Orders later work of the stream after the arrival. Any thread may call.
  virtual void order_before(Stream stream) = 0;
};

/// The Memory of device tensors. Everything is ordered by the thread's current stream, and memory goes back
/// in the order of the stream that took it; only copies to the host wait.
struct DeviceMemory {
  using space = DeviceSpace;
  static constexpr bool on_host = false;

  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// The context that a block was taken in, and what was sent to it.
  struct Origin {
    Context context;
    int device = 0;
    Held<Arrival> arrival;
  };

  static void* allocate(std::size_t bytes, MemoryPurpose, Origin& origin) {
    if (MemoryCounter* const dry = MemoryCounter::active())
      return dry->allocate(bytes, MemoryCounter::Counts::device_memory);
    origin.context = current_context();
    MemoryResource* const of_graph = detail::memory_of_recording();
    if (of_graph && !origin.context.memory->gives_memory_of_graphs()) origin.context.memory = of_graph;
    origin.device = detail::current_device();
    void* const block = block_of(origin.context, bytes);
    detail::DeviceUse::instance().add(static_cast<std::int64_t>(bytes));
    return block;
  }
  static void deallocate(void* block, std::size_t bytes, MemoryPurpose, const Origin& origin) noexcept {
    if (MemoryCounter::made(block))
      return MemoryCounter::deallocate(bytes, MemoryCounter::Counts::device_memory);
    const detail::DeviceScope device(origin.device);  // the default stream is the current device's
    origin.context.memory->deallocate(block, bytes, origin.context.stream);
    detail::DeviceUse::instance().add(-static_cast<std::int64_t>(bytes));
  }
  static int device_of(const Origin& origin) { return origin.device; }
  /// The upload to a block. Waiting for it orders the current stream, and does not block the host.
  using Upload = Held<Arrival>;
  static const Upload& upload_of(const Origin& origin) { return origin.arrival; }
  static void wait_for_upload(const Upload& upload) {
    if (upload) upload->order_before(current_stream());
  }

  /// Defined in device_copies.hpp, which code that copies includes. copy_from_host returns when the host's
  /// values have been read, and waits only where the stream's staging is full. copy_to_host waits until the
  /// values have arrived.
  static inline void note_written(Origin& origin);
  static inline void wait_for_context(const Origin& origin);
  static inline void copy(void* to, const void* from, std::size_t bytes);
  static inline void copy_from_host(void* to, const void* from, std::size_t bytes);
  static inline void copy_to_host(void* to, const void* from, std::size_t bytes);

 private:
  /// Checks what a program's own MemoryResource returns: null or misaligned memory would make kernels fail.
  static void* block_of(const Context& context, std::size_t bytes) {
    void* const block = context.memory->allocate(bytes, context.stream);
    if (!block)
      throw OutOfMemory("the MemoryResource of a Context returned null for " +
                        in_bytes(static_cast<std::int64_t>(bytes)));
    if (reinterpret_cast<std::uintptr_t>(block) % alignment == 0) return block;
    context.memory->deallocate(block, bytes, context.stream);
    throw InputError("the MemoryResource of a Context returned memory that is not aligned to 256 bytes");
  }
};

using Memory = DeviceMemory;

}  // namespace precast::gpu
