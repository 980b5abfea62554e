// Context: the stream that ops run on, and where their memory comes from: the device's own pool, or a
// program's allocator.
#pragma once

#include <cstddef>
#include <utility>

#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>
#include <precast/memory/held.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/device_memory.hpp>
#endif

namespace precast::gpu {

/// Allocates device memory in stream order. A program with an allocator of its own derives from this, and
/// names it in a Context; it must outlive the memory taken from it. Any thread may call.
class MemoryResource {
 public:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;
  virtual ~MemoryResource() = default;

  /// Memory aligned to 256 bytes, for later work of the stream. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  /// Frees a block, which only work of `stream` may still be using. `bytes` is the size that was allocated.
  virtual void deallocate(void* block, std::size_t bytes, Stream stream) noexcept = 0;
  /// Whether memory allocated while the stream records a graph belongs to the graph, as cudaMallocAsync's
  /// does. If so, a body that a Replay records allocates from it too, otherwise from the device's pool.
  virtual bool gives_memory_of_graphs() const noexcept { return false; }
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
      check(status, "get " + in_bytes(static_cast<std::int64_t>(bytes)) + " of device memory");
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

/// The resource that a thread takes memory from while it records a graph (Replay), unless its context's
/// resource gives memory of graphs.
inline MemoryResource*& memory_of_recording() {
  thread_local MemoryResource* memory = nullptr;
  return memory;
}

}  // namespace detail

/// The stream-ordered pool of the thread's current device: memory freed on a stream can be reused by later
/// work of the stream, without waiting for anything.
inline MemoryResource& device_pool() {
  static auto* const pool = new detail::DevicePool;  // at exit others may still give memory back
  return *pool;
}

/// Where ops run. `Context{stream}` takes memory from the device's pool, `Context{stream, &resource}` from
/// a program's allocator. Any op takes one as its last argument; without one, it runs in the thread's
/// current context. Results remember theirs: memory is freed to its resource in the order of its stream,
/// whichever thread frees it, and to_host waits for the stream. Ops on another stream wait for uploads
/// only; their inputs must live until they are done. Stream and resource must outlive the results, unless
/// the context is an OwnStream's.
struct Context {
  Stream stream{};
  MemoryResource* memory = &device_pool();
  Held<const Holdable> owner{};  ///< keeps the stream alive: OwnStream::context() has one
};

namespace detail {
inline Context& context_of_thread() {
  thread_local Context context;
  return context;
}
}  // namespace detail

/// The context that ops of this thread run in: the device's default stream and its pool outside of any
/// ContextScope. The reference follows the thread's scopes: copy it to keep it.
inline const Context& current_context() { return detail::context_of_thread(); }
/// The stream of current_context().
inline Stream current_stream() { return current_context().stream; }

/// While it lives, ops of this thread run in another context. Throws InputError for a context without a
/// MemoryResource, and for the stream cudaStreamPerThread, whose handle means another stream in each
/// thread: memory and uploads identify their stream by its handle.
class ContextScope {
 public:
  explicit ContextScope(const Context& context) : changes_(&context != &current_context()) {
    if (!changes_) return;  // an op without a Context argument
    if (!context.memory)
      throw InputError(
          "a Context has no MemoryResource: leave the member out to use the device's memory pool");
#if !PRECAST_CUDA_IS_EMULATED
    if (context.stream == cudaStreamPerThread)
      throw InputError("a Context of cudaStreamPerThread: give ops an OwnStream in each thread instead");
#endif
    before_ = std::exchange(detail::context_of_thread(), context);
  }
  ~ContextScope() {
    if (changes_) detail::context_of_thread() = std::move(before_);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  bool changes_;
  Context before_;
};

/// Returns `ops()`, run in this context: launches, memory and libraries.
template <class Ops>
decltype(auto) with_context(const Context& context, Ops&& ops) {
  const ContextScope scope(context);
  return std::forward<Ops>(ops)();
}

}  // namespace precast::gpu
