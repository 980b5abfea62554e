// The device that a thread works on.
#pragma once

#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu::detail {

/// Its number; 0 in the emulator, which has one.
inline int current_device() {
  int device = 0;
#if !PRECAST_CUDA_IS_EMULATED
  check(cudaGetDevice(&device), "find the current device");
#endif
  return device;
}

/// Another device is the thread's current one for as long as it lives.
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

}  // namespace precast::gpu::detail
