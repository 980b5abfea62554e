// Streams, and the one that this thread's CUDA ops run on.
#pragma once

#if defined(__CUDACC__) || defined(PRECAST_USE_CUDA)
#define PRECAST_CUDA_IS_EMULATED 0
#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#else
#define PRECAST_CUDA_IS_EMULATED 1
#include <simt/stream.hpp>
#endif

namespace precast::cuda {

/// An order of work on the device: what is given to one stream runs one after another.
#if PRECAST_CUDA_IS_EMULATED
using Stream = simt::Stream;
#else
using Stream = cudaStream_t;
#endif

/// Waits until the device has done all that the stream was given.
inline void wait_for(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
  simt::wait_for_stream(stream);
#else
  check(cudaStreamSynchronize(stream), "finish its work");
#endif
}

namespace detail {
inline Stream& stream_of_thread() {
  thread_local Stream stream{};
  return stream;
}
}  // namespace detail

/// The stream that ops of this thread run on: the device's default stream until a StreamScope says otherwise.
inline Stream current_stream() { return detail::stream_of_thread(); }

/// Ops of this thread run on another stream for as long as it lives.
class StreamScope {
 public:
  explicit StreamScope(Stream stream) : before_(detail::stream_of_thread()) {
    detail::stream_of_thread() = stream;
  }
  ~StreamScope() { detail::stream_of_thread() = before_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream before_;
};

}  // namespace precast::cuda
