// The side that a kernel is compiled for: the device, by nvcc, or the emulator of tests/simt, by a host
// compiler. Also hooks for the emulator's tests: sites of barriers, and mistakes to switch on, which prove
// that tests would see them. Kernels are the same text on both sides: only this folder, runtime/, the
// architecture of tile/ and stand-ins for libraries ask for the side (tests/headers/sides.cmake).
#pragma once

#include <cstddef>

#include <precast/dtype/host_device.hpp>

#if defined(__CUDACC__)
#define PRECAST_ON_DEVICE 1
/// A function that a launch starts on every thread of a grid.
#define PRECAST_KERNEL __global__
/// Before a kernel's const parameter that threads read in constant memory: TMA descriptors must be there,
/// and nvcc otherwise loads a parameter of up to 128 bytes into registers at a kernel's start.
#define PRECAST_GRID_CONSTANT __grid_constant__
/// A function that kernels call.
#define PRECAST_DEVICE __device__ __forceinline__
/// The most threads a block of the kernel has, and how many blocks should fit a multiprocessor.
#define PRECAST_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
/// Before a loop over registers, which have no addresses: each round becomes code of its own.
#define PRECAST_UNROLL _Pragma("unroll")
/// Before a loop whose rounds would take too many registers side by side, or too much code for what they are
/// worth.
#define PRECAST_KEEP_LOOP _Pragma("unroll 1")
#elif __has_include(<simt/emulator.hpp>)
#define PRECAST_ON_DEVICE 0
#define PRECAST_KERNEL
#define PRECAST_GRID_CONSTANT
#define PRECAST_DEVICE inline
#define PRECAST_LAUNCH_BOUNDS(threads, blocks)
#define PRECAST_UNROLL
#define PRECAST_KEEP_LOOP
#include <simt/emulator.hpp>
#else
#error "Precast: headers of precast/cuda need nvcc; a host compiler runs them in the emulator, with -I tests"
#endif

namespace precast::gpu {

#if PRECAST_ON_DEVICE
/// The place of a barrier's call in a kernel's source: nothing on the device. A function that calls
/// barriers for its caller takes `Site site = Site::here()` last and passes `site.part(1)`, `site.part(2)`
/// to them, so that the emulator identifies each of them by its caller.
struct Site {
  PRECAST_HOST_DEVICE static constexpr Site here() { return {}; }
  PRECAST_HOST_DEVICE constexpr Site part(int) const { return {}; }
};
#else
using simt::Site;
#endif

/// The name of a mistake, as a template argument.
template <std::size_t N>
struct FaultName {
  char text[N] = {};
  PRECAST_HOST_DEVICE constexpr FaultName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

/// Returns `value`, or in the emulator `wrong` while a test has the fault switched on. A few for each
/// kernel, where mistakes are likely: `planted<"tile edge">(row < rows, row <= rows)`.
template <FaultName Name, class T>
PRECAST_DEVICE T planted(T value, [[maybe_unused]] T wrong) {
#if PRECAST_ON_DEVICE
  return value;
#else
  return simt::is_planted<Name>() ? wrong : value;
#endif
}

}  // namespace precast::gpu
