// Context: the stream that ops run on, and where their memory comes from.
#pragma once

#include <utility>

#include <precast/cuda/runtime/memory_resource.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/memory/held.hpp>

namespace precast::gpu {

/// Where ops run. `Context{stream}` takes memory from the device's pool, `Context{stream, &resource}` from a
/// program's allocator. Any op takes one as its first argument; without one, ops run in the thread's current
/// one. Results remember it: their memory goes back to the resource in the order of the stream, whoever lets
/// go of them. Both must outlive the results, unless the context has the stream from an OwnStream.
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

/// What ops of this thread run in: the device's default stream and its pool until a scope says otherwise.
inline const Context& current_context() { return detail::context_of_thread(); }
/// Its stream.
inline Stream current_stream() { return current_context().stream; }

/// Ops of this thread run in another context for as long as it lives.
class ContextScope {
 public:
  explicit ContextScope(Context context)
      : before_(std::exchange(detail::context_of_thread(), std::move(context))) {}
  ~ContextScope() { detail::context_of_thread() = std::move(before_); }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Context before_;
};

/// What `ops()` gives, with all that it does in this context: launches, memory, libraries.
template <class Ops>
decltype(auto) with_context(const Context& context, Ops&& ops) {
  const ContextScope scope(context);
  return std::forward<Ops>(ops)();
}

}  // namespace precast::gpu
