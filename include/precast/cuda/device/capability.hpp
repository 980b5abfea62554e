// Compute capabilities, as ten times the major number plus the minor: of the code that is being compiled, of
// the code that a device runs, and of the device.
#pragma once

#include <precast/cuda/device/side.hpp>

#if PRECAST_ON_DEVICE
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/memory/memory_counter.hpp>
#endif

namespace precast::gpu {

#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ < 800  // nvcc's default
#error "Precast: CUDA kernels need compute capability 8.0 or more: compile with -arch=sm_80 or newer"
#endif
inline constexpr int compiled_capability = __CUDA_ARCH__ / 10;
#else
/// The capability that code is being compiled for. nvcc's host pass generates no code of kernels, and sees
/// the oldest capability here.
inline constexpr int compiled_capability = 80;
#endif

#if PRECAST_ON_DEVICE
/// The capability that the current device's code of a kernel was compiled for: `compiled_capability` as the
/// kernel saw it. Each thread queries CUDA once per kernel and device, unless another kernel replaces the
/// entry in its table. Throws Error where none of the kernel's code runs on the device. A dry run launches
/// nothing, and queries nothing.
inline int capability_of_code(const void* kernel) {
  if (MemoryCounter::active()) return compiled_capability;
  struct Known {
    const void* kernel = nullptr;
    int device = 0, capability = 0;
  };
  constexpr std::size_t remembered = 64;
  thread_local Known all[remembered];
  const int device = detail::current_device();
  Known& one = all[reinterpret_cast<std::uintptr_t>(kernel) / 16 % remembered];
  if (one.kernel != kernel || one.device != device) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "find a kernel's code for the current device");
    one = {kernel, device, attributes.ptxVersion};
  }
  return one.capability;
}

/// The current device's capability. Each thread queries CUDA when its current device has changed.
inline int device_capability() {
  thread_local int known_device = -1, capability = 0;
  const int device = detail::current_device();
  if (device == known_device) return capability;
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "get its compute capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "get its compute capability");
  capability = 10 * major + minor;
  known_device = device;
  return capability;
}
#else
inline int capability_of_code(const void*) { return compiled_capability; }
inline int device_capability() { return simt::device_capability(); }
#endif

}  // namespace precast::gpu
