// The extremes of an array of the device, as the watch hook reports them: declared, and defined for the
// emulator.
#pragma once

#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/extremes_kernel.hpp>

#if PRECAST_CUDA_IS_EMULATED
#include <simt/stream.hpp>

namespace precast::gpu {

/// The extremes of x, places counted row by row. Waits for the stream. On a device this is CUB's reduction,
/// which takes nvcc seconds to read: include extremes_by_cub.hpp where it is instantiated, and this header
/// where it is called. CUB does not compile under a host compiler: the emulator's device has a plain loop
/// instead.
template <ScalarDtype T>
Extremes extremes_of(DeviceView<const T> x, Stream stream) {
  const simt::StreamWork work("extremes_of", stream);
  work.reads(x.data(), 1);
  return extremes_in(x);
}

}  // namespace precast::gpu
#endif
