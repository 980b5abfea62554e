// StreamScope: this thread's CUDA ops on another stream.
#pragma once

#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu {

/// Ops of this thread run on another stream for as long as it lives, with the memory of the current context.
/// The stream must outlive what is made here.
class StreamScope {
 public:
  explicit StreamScope(Stream stream) : scope_(on(stream)) {}

 private:
  static Context on(Stream stream) {
    Context context = current_context();
    if (stream != context.stream) context.owner.reset();
    context.stream = stream;
    return context;
  }

  ContextScope scope_;
};

}  // namespace precast::gpu
