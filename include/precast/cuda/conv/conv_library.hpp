// The library of convolutions that this process uses.
#pragma once

#include <type_traits>

#include <precast/cuda/conv/conv_request.hpp>
#include <precast/cuda/runtime/library_in_use.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/conv/cudnn.hpp>
#endif

namespace precast::gpu {

/// cuDNN on a device, where it was found; none in the emulator. Without one our own kernel convolves
/// everything.
inline ConvLibrary default_library(std::type_identity<ConvLibrary>) {
#if PRECAST_CUDA_IS_EMULATED
  return {};
#else
  return cudnn_convolutions();
#endif
}

}  // namespace precast::gpu
