// The kernel that tests whether a device runs the library's kernels.
#include <precast/cuda/runtime/code_probe.hpp>

template cudaError_t precast::gpu::probe_code<precast::gpu::LibraryKernels>();
