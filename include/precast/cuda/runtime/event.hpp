// Event: a point in the work of a stream, which the host or another stream can wait for.
#pragma once

#include <precast/cuda/runtime/stream_type.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::gpu {

/// A point in the work of a stream.
class Event {
 public:
#if PRECAST_CUDA_IS_EMULATED
  Event() = default;
#else
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
#endif
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Sets the point after all work that the stream has been given so far.
  void record(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
    event_ = simt::record_event(stream);
#else
    check(cudaEventRecord(event_, stream), "record an event");
#endif
    recorded_ = true;
  }
  /// Waits until the device has reached the point; returns at once where none was recorded.
  void wait() const {
    if (!recorded_) return;
#if PRECAST_CUDA_IS_EMULATED
    simt::wait_for_event(event_);
#else
    check(cudaEventSynchronize(event_), "finish its work");
#endif
  }
  /// Whether the device has reached the point, as far as the host knows. Other threads may record graphs.
  bool is_complete() const {
#if PRECAST_CUDA_IS_EMULATED
    return false;  // the emulator orders work by what waits for what
#else
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode), "set the stream capture mode");
    const cudaError_t status = recorded_ ? cudaEventQuery(event_) : cudaErrorNotReady;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (status != cudaSuccess) (void)cudaGetLastError();  // "not ready" must not surface in a later call
    return status == cudaSuccess;
#endif
  }
  /// Orders later work of the stream after the point. The host does not wait.
  void order_before(Stream stream) const {
    if (!recorded_) return;
#if PRECAST_CUDA_IS_EMULATED
    simt::wait_for_event(stream, event_);
#else
    check(cudaStreamWaitEvent(stream, event_, 0), "have a stream wait for another");
#endif
  }

 private:
#if PRECAST_CUDA_IS_EMULATED
  simt::Clock event_;
#else
  cudaEvent_t event_ = nullptr;
#endif
  bool recorded_ = false;
};

}  // namespace precast::gpu
