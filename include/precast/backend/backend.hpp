// The backend that the ops of a translation unit run on: CUDA where nvcc compiles it, else the host. What
// depends on it lives in an inline namespace of the backend's name, so that one program holds both, and a
// linker cannot take one for the other.
#pragma once

// A host compiler builds for CUDA where PRECAST_USE_CUDA is defined: it compiles models, which call kernels
// that nvcc compiled. With PRECAST_EMULATE_CUDA, which tests define, the kernels run in the emulator of
// tests/simt.
#if defined(__CUDACC__) || defined(PRECAST_USE_CUDA) || defined(PRECAST_EMULATE_CUDA)
#define PRECAST_BACKEND_IS_CUDA 1
#define PRECAST_BACKEND cuda_backend
#else
#define PRECAST_BACKEND_IS_CUDA 0
#define PRECAST_BACKEND host_backend
#endif

namespace precast {

namespace host {}
namespace cuda {}

/// The kernels of this translation unit's backend. Both backends' have the same names and signatures.
#if PRECAST_BACKEND_IS_CUDA
namespace backend = cuda;
#else
namespace backend = host;
#endif

}  // namespace precast
