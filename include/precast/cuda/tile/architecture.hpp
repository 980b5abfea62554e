// The GPU architectures that kernels are tiled for, and what a multiprocessor of each holds (CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability").
#pragma once

#include <array>
#include <atomic>
#include <type_traits>
#include <utility>

#include <precast/cuda/device/side.hpp>
#include <precast/error.hpp>

#if PRECAST_ON_DEVICE
#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

/// An architecture by its compute capability, ten times the major number plus the minor.
enum class Architecture { sm_80 = 80, sm_86 = 86, sm_89 = 89, sm_90 = 90, sm_100 = 100, sm_120 = 120 };

inline constexpr std::array all_architectures{Architecture::sm_80,  Architecture::sm_86,
                                              Architecture::sm_89,  Architecture::sm_90,
                                              Architecture::sm_100, Architecture::sm_120};

/// What a tile may take.
struct ArchitectureLimits {
  int shared_per_block;           ///< bytes that one block may ask for
  int shared_per_multiprocessor;  ///< bytes of all blocks, each with 1 KiB of the system's
  int threads_per_multiprocessor;
  bool multiplies_fp8;  ///< whether its tensor cores take fp8
};

constexpr ArchitectureLimits limits_of(Architecture architecture) {
  constexpr int kibibyte = 1024;
  switch (architecture) {
    case Architecture::sm_80:
      return {163 * kibibyte, 164 * kibibyte, 2048, false};
    case Architecture::sm_86:
      return {99 * kibibyte, 100 * kibibyte, 1536, false};
    case Architecture::sm_89:
    case Architecture::sm_120:
      return {99 * kibibyte, 100 * kibibyte, 1536, true};
    case Architecture::sm_90:
    case Architecture::sm_100:
      break;
  }
  return {227 * kibibyte, 228 * kibibyte, 2048, true};
}

/// The newest known architecture that is no newer than a device of this compute capability. Throws Error
/// where the device is older than all.
constexpr Architecture closest_architecture(int major, int minor) {
  Architecture closest{};
  for (const Architecture known : all_architectures)
    if (static_cast<int>(known) <= 10 * major + minor) closest = known;
  if (closest == Architecture{})
    throw Error("Precast's CUDA kernels need a GPU of compute capability 8.0 or more: run on the host");
  return closest;
}

/// The architecture of the device that the calling thread works with, of which CUDA is asked once; sm_80 in
/// the emulator.
inline Architecture current_architecture() {
#if PRECAST_ON_DEVICE
  static std::array<std::atomic<int>, 64> known{};  // by number of the device; 0 where nobody has asked yet
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "find the current device");
  const auto place = static_cast<std::size_t>(device) % known.size();
  const bool remembered = static_cast<std::size_t>(device) < known.size();
  if (const int found = known[place].load(std::memory_order_relaxed); remembered && found != 0)
    return static_cast<Architecture>(found);
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "ask for its capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "ask for its capability");
  const Architecture architecture = closest_architecture(major, minor);
  if (remembered) known[place].store(static_cast<int>(architecture), std::memory_order_relaxed);
  return architecture;
#else
  return Architecture::sm_80;
#endif
}

/// Calls `function` with the architecture as a std::integral_constant: the way from the device that is there
/// to a tile that is part of a kernel's type.
template <class F>
void visit_architecture(Architecture architecture, F&& function) {
  const auto call_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr Architecture known = all_architectures[I];
    if (architecture == known) function(std::integral_constant<Architecture, known>{});
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (call_if(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<all_architectures.size()>{});
}

}  // namespace precast::cuda
