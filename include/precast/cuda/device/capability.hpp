// Compute capabilities, as ten times the major number plus the minor: of the code that is being compiled, of
// the code that a device runs, and of the device.
#pragma once

#include <precast/cuda/device/side.hpp>

#if PRECAST_ON_DEVICE
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#include <precast/memory/memory_counter.hpp>
#endif

namespace precast::cuda {

#if defined(__CUDA_ARCH__)
inline constexpr int compiled_capability = __CUDA_ARCH__ / 10;
#else
/// What code is being compiled for. nvcc's pass over the host's code compiles kernels for nothing, and sees
/// the oldest one here.
inline constexpr int compiled_capability = 80;
#endif

#if PRECAST_ON_DEVICE
/// What the current device's code of a kernel was compiled for: `compiled_capability` as the kernel saw it.
/// CUDA is asked once for each kernel and device. Throws Error where the device runs none of its code. A dry
/// run starts nothing, and asks nothing.
inline int capability_of_code(const void* kernel) {
  if (MemoryCounter::active()) return compiled_capability;
  thread_local std::map<std::pair<const void*, int>, int> known;
  int device = 0;
  check(cudaGetDevice(&device), "find the current device");
  int& capability = known[{kernel, device}];
  if (capability == 0) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "find a kernel's code for the current device");
    capability = attributes.ptxVersion;
  }
  return capability;
}

/// The current device's, of which CUDA is asked once.
inline int device_capability() {
  static std::array<std::atomic<int>, 64> known{};  // by number of the device; 0 where nobody has asked yet
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "find the current device");
  const auto place = static_cast<std::size_t>(device) % known.size();
  const bool remembered = static_cast<std::size_t>(device) < known.size();
  if (const int found = known[place].load(std::memory_order_relaxed); remembered && found != 0) return found;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "ask for its capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "ask for its capability");
  if (remembered) known[place].store(10 * major + minor, std::memory_order_relaxed);
  return 10 * major + minor;
}
#else
inline int capability_of_code(const void*) { return compiled_capability; }
inline int device_capability() { return compiled_capability; }
#endif

}  // namespace precast::cuda
