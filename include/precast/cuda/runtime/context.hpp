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
  /// Whether what it gives while the stream records a graph is the graph's, as cudaMallocAsync's is: then
  /// what a Replay records takes memory from it too, and else from the device's pool.
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

/// Where a thread that records a graph (Replay) takes memory from, unless its context's resource gives memory
/// of graphs.
inline MemoryResource*& memory_of_recording() {
  thread_local MemoryResource* memory = nullptr;
  return memory;
}

}  // namespace detail

/// The stream-ordered pool of the device that a thread works on: what is freed on a stream is there again for
/// what the stream does next, without waiting for anything.
inline MemoryResource& device_pool() {
  static auto* const pool = new detail::DevicePool;  // at exit others may still give memory back
  return *pool;
}

/// Where ops run. `Context{stream}` takes memory from the device's pool, `Context{stream, &resource}` from a
/// program's allocator. Any op takes one as its last argument; without one, ops run in the thread's current
/// one. Results remember it: their memory goes back to the resource in the order of the stream, whoever lets
/// go of them, and to_host waits for the stream. Ops of another stream wait for uploads alone, and
/// what they read must be there until they are done. Both must outlive the results, unless the context has
/// the stream from an OwnStream.
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

/// What ops of this thread run in: the device's default stream and its pool until a scope says otherwise. The
/// reference follows the thread's scopes: copy it to keep it.
inline const Context& current_context() { return detail::context_of_thread(); }
/// Its stream.
inline Stream current_stream() { return current_context().stream; }

/// Ops of this thread run in another context for as long as it lives. Throws InputError for one without a
/// MemoryResource, and for the stream cudaStreamPerThread, which is another one in each thread: memory and
/// uploads know theirs by its handle.
class ContextScope {
 public:
  explicit ContextScope(const Context& context) : changes_(&context != &current_context()) {
    if (!changes_) return;  // an op that was given none
    if (!context.memory)
      throw InputError("a Context without a MemoryResource: leave it out, and memory is the device's pool's");
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

/// What `ops()` gives, with all that it does in this context: launches, memory, libraries.
template <class Ops>
decltype(auto) with_context(const Context& context, Ops&& ops) {
  const ContextScope scope(context);
  return std::forward<Ops>(ops)();
}

}  // namespace precast::gpu
