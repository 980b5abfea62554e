// The kernel by which a program asks whether a device runs the library's.
#include <precast/cuda/runtime/code_probe.hpp>

template cudaError_t precast::gpu::probe_code<precast::gpu::LibraryKernels>();
