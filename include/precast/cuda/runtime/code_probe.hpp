// Whether a program's kernels run on a device: nvcc compiles them for some architectures, and a device of
// another one refuses them at their first launch.
#pragma once

#include <cuda_runtime_api.h>

namespace precast::gpu {

/// Tag of the library's own kernels, which are compiled together for the same architectures.
struct LibraryKernels;

/// cudaSuccess where the current device runs kernels that are compiled as `Kernels` are, else CUDA's error.
/// Defined where nvcc compiles; the instance for LibraryKernels is in kernels/cuda/code_probe.cu.
template <class Kernels>
cudaError_t probe_code();

#if defined(__CUDACC__)
namespace detail {
template <class Kernels>
__global__ void probed_kernel() {}
}  // namespace detail

template <class Kernels>
cudaError_t probe_code() {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, &detail::probed_kernel<Kernels>);
  (void)cudaGetLastError();
  return status;
}
#else
extern template cudaError_t probe_code<LibraryKernels>();
#endif

}  // namespace precast::gpu
