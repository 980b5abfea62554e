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
#define PRECAST_KERNELS gpu
#else
#define PRECAST_BACKEND_IS_CUDA 0
#define PRECAST_BACKEND host_backend
#define PRECAST_KERNELS host
#endif

// A unit either holds the kernels that its ops call, as those of a project that includes headers do, or, with
// PRECAST_LINK_KERNELS, sees their declarations and links to units that stamp them: then a kernel that none
// stamps does not link. What a host compiler builds for CUDA cannot hold kernels.
#if defined(PRECAST_LINK_KERNELS) || (defined(PRECAST_USE_CUDA) && !defined(__CUDACC__))
#define PRECAST_HOLDS_KERNELS 0
#else
#define PRECAST_HOLDS_KERNELS 1
#endif

namespace precast {

namespace host {}
namespace gpu {}

/// The kernels of this translation unit's backend. Both backends' have the same names and signatures.
namespace backend = PRECAST_KERNELS;

}  // namespace precast
