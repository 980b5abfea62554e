// The extremes of an array of the device, as the watch hook reports them.
#pragma once

#include <cstdint>

#include <precast/cuda/device/launch.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

/// The extremes of x, places counted row by row. Waits for the stream. On a device this is CUB's reduction,
/// which takes nvcc seconds to read: include extremes_by_cub.hpp where it is instantiated, and this header
/// where it is called.
template <ScalarDtype T>
Extremes extremes_of(View<const T> x, Stream stream = current_stream());

#if !PRECAST_ON_DEVICE
// CUB does not compile under a host compiler: the emulator's device has a plain loop instead.
template <ScalarDtype T>
Extremes extremes_of(View<const T> x, Stream) {
  const simt::DeviceAccess access;
  return extremes_in(x);
}
#endif

}  // namespace precast::cuda
