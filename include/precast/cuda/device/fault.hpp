// Mistakes that the kernels' tests switch on in the emulator, to prove that they would see them.
#pragma once

#include <cstddef>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// The name of a mistake, as a template argument.
template <std::size_t N>
struct FaultName {
  char text[N] = {};
  PRECAST_HOST_DEVICE constexpr FaultName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

/// `value`. In the emulator a test may switch the fault on, and it is `wrong` then. A few for each kernel,
/// where hands slip: `planted<"tile edge">(row < rows, row <= rows)`.
template <FaultName Name, class T>
PRECAST_DEVICE T planted(T value, [[maybe_unused]] T wrong) {
#if PRECAST_ON_DEVICE
  return value;
#else
  return simt::is_planted<Name>() ? wrong : value;
#endif
}

}  // namespace precast::gpu
