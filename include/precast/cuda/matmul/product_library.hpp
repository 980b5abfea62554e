// The library of matrix products that this process uses.
#pragma once

#include <type_traits>

#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/library_in_use.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/matmul/cublaslt.hpp>
#endif

namespace precast::gpu {

/// cuBLASLt on a device, where it was found; none in the emulator. Without one our own kernels multiply
/// everything.
inline ProductLibrary default_library(std::type_identity<ProductLibrary>) {
#if PRECAST_CUDA_IS_EMULATED
  return {};
#else
  return cublaslt_products();
#endif
}

}  // namespace precast::gpu
