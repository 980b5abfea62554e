// Stream: an order of work on the device; and which device a thread works on.
#pragma once

#if defined(__CUDACC__) || defined(PRECAST_USE_CUDA)
#define PRECAST_CUDA_IS_EMULATED 0
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#error \
    "Precast: memory and uploads identify their stream by its handle, which -default-stream per-thread makes a different stream in each thread: compile without it, and give ops an OwnStream in each thread"
#endif
#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#else
#define PRECAST_CUDA_IS_EMULATED 1
#include <simt/stream.hpp>
#endif

namespace precast::gpu {

/// An order of work on the device. Work of one stream runs in sequence; work of two streams runs in any
/// order, or at once, unless an Event or the host orders it.
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

/// Whether the stream records a graph: what it is given now runs later, and more than once.
inline bool records_graph(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
  return simt::is_recording(stream);
#else
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(stream, &status), "get the capture status of a stream");
  return status != cudaStreamCaptureStatusNone;
#endif
}

namespace detail {

/// The number of the device that a thread works on; 0 in the emulator, which has one.
inline int current_device() {
  int device = 0;
#if !PRECAST_CUDA_IS_EMULATED
  check(cudaGetDevice(&device), "find the current device");
#endif
  return device;
}

/// Makes another device the thread's current one while it lives.
class DeviceScope {
 public:
#if PRECAST_CUDA_IS_EMULATED
  explicit DeviceScope(int) noexcept {}
#else
  explicit DeviceScope(int device) noexcept {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device)
      changed_ = cudaSetDevice(device) == cudaSuccess;
  }
#endif
  ~DeviceScope() {
#if !PRECAST_CUDA_IS_EMULATED
    if (changed_) (void)cudaSetDevice(before_);
#endif
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

#if !PRECAST_CUDA_IS_EMULATED
 private:
  int before_ = 0;
  bool changed_ = false;
#endif
};

}  // namespace detail

}  // namespace precast::gpu
