// The devices of this machine, or why there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace precast::cuda {

/// A device that kernels can run on.
struct Device {
  int number = 0;
  std::string name;
  int capability = 0;                        ///< 10 major + minor: 90 for sm_90
  std::int64_t memory = 0, free_memory = 0;  ///< bytes
};

/// What was found: a device, or one line that says why there is none.
struct FoundDevice {
  std::optional<Device> device;
  std::string reason;
};

/// Looks for a device, without one being needed: no driver, no device, a number that is too large and a
/// device that this binary holds no code for are all reasons, not errors.
FoundDevice find_device(int number = 0);

/// Makes a device the one that this thread works on. Throws Error.
void use_device(const Device& device);

}  // namespace precast::cuda
