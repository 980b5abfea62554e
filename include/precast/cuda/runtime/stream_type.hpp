// Stream: an order of work on the device.
#pragma once

#if defined(__CUDACC__) || defined(PRECAST_USE_CUDA)
#define PRECAST_CUDA_IS_EMULATED 0
#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#else
#define PRECAST_CUDA_IS_EMULATED 1
#include <simt/stream.hpp>
#endif

namespace precast::gpu {

/// An order of work on the device: what is given to one stream runs one after another. What is given to two
/// runs in any order, or at once, unless an Event or the host says otherwise.
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
  check(cudaStreamIsCapturing(stream, &status), "ask what a stream does");
  return status != cudaStreamCaptureStatusNone;
#endif
}

}  // namespace precast::gpu
