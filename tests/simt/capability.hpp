// The compute capability of the device that is emulated.
#pragma once

#include <cstdlib>

namespace simt {

/// Ten times the major number plus the minor: 80, or what the environment's PRECAST_EMULATED_CAPABILITY says.
/// Kernels take the tiles of that architecture.
inline int device_capability() {
  static const int capability = [] {
    const char* const said = std::getenv("PRECAST_EMULATED_CAPABILITY");
    return said ? std::atoi(said) : 80;
  }();
  return capability;
}

}  // namespace simt
