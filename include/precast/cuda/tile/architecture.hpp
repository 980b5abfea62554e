// The GPU architectures that kernels are tiled for, and what a multiprocessor of each holds (CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability").
#pragma once

#include <array>

#include <precast/dtype/host_device.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// An architecture by its compute capability, ten times the major number plus the minor.
enum class Architecture { sm_80 = 80, sm_86 = 86, sm_89 = 89, sm_90 = 90, sm_100 = 100, sm_120 = 120 };

namespace detail {
/// A list as a type: device code can fold over it, but cannot iterate over a std::array.
template <Architecture... All>
struct ArchitectureList {
  static constexpr std::array<Architecture, sizeof...(All)> values{All...};
};
using AllArchitectures = ArchitectureList<Architecture::sm_80, Architecture::sm_86, Architecture::sm_89,
                                          Architecture::sm_90, Architecture::sm_100, Architecture::sm_120>;
}  // namespace detail

/// All architectures, oldest first.
inline constexpr auto all_architectures = detail::AllArchitectures::values;

/// The shared memory that tiles may take.
struct ArchitectureLimits {
  int shared_per_block;           ///< bytes that one block may ask for
  int shared_per_multiprocessor;  ///< bytes of all blocks, each with 1 KiB reserved by the system
};

PRECAST_HOST_DEVICE_CONSTEXPR ArchitectureLimits limits_of(Architecture architecture) {
  constexpr int kibibyte = 1024;
  switch (architecture) {
    case Architecture::sm_80:
      return {163 * kibibyte, 164 * kibibyte};
    case Architecture::sm_86:
      return {99 * kibibyte, 100 * kibibyte};
    case Architecture::sm_89:
    case Architecture::sm_120:
      return {99 * kibibyte, 100 * kibibyte};
    case Architecture::sm_90:
    case Architecture::sm_100:
      break;
  }
  return {227 * kibibyte, 228 * kibibyte};
}

namespace detail {
template <Architecture... All>
PRECAST_HOST_DEVICE_CONSTEXPR int shared_from_on(Architecture oldest, ArchitectureList<All...>) {
  int least = limits_of(oldest).shared_per_block;
  ((least = All > oldest ? min_of(least, limits_of(All).shared_per_block) : least), ...);
  return least;
}
}  // namespace detail

/// The bytes of shared memory that one block may ask for on every device that runs an architecture's code:
/// its own and, by the driver, every newer one. Tiles of its code keep within them.
PRECAST_HOST_DEVICE_CONSTEXPR int shared_where_code_runs(Architecture architecture) {
  return detail::shared_from_on(architecture, detail::AllArchitectures{});
}

/// The newest known architecture that is no newer than a compute capability, ten times the major number plus
/// the minor. Throws Error where it is older than all.
constexpr Architecture closest_architecture(int capability) {
  Architecture closest{};
  for (const Architecture known : all_architectures)
    if (static_cast<int>(known) <= capability) closest = known;
  if (closest == Architecture{})
    throw Error("Precast's CUDA kernels need a GPU of compute capability 8.0 or more: run on the host");
  return closest;
}

}  // namespace precast::gpu
