// The backend that the ops of a translation unit run on: CUDA where nvcc compiles it, else the host.
// Declarations that depend on it are in an inline namespace named after the backend, so that one program
// can hold both and a linker cannot confuse them. Also the memory space of each backend.
#pragma once

#include <type_traits>

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

// A unit either holds the kernels that its ops call, as in a header-only project, or, with
// PRECAST_LINK_KERNELS, sees their declarations and links to units that instantiate them: then a kernel
// that no unit instantiates does not link. A unit that a host compiler builds for CUDA cannot hold kernels.
#if defined(PRECAST_LINK_KERNELS) || (defined(PRECAST_USE_CUDA) && !defined(__CUDACC__))
#define PRECAST_HOLDS_KERNELS 0
#else
#define PRECAST_HOLDS_KERNELS 1
#endif

namespace precast {

namespace host {}
namespace gpu {}

/// The kernels of this translation unit's backend. Both backends have the same names and signatures.
namespace backend = PRECAST_KERNELS;

// Memory spaces: who can read an address. A view has one in its type, so that passing host memory to a
// device kernel does not compile.

/// Memory that the host reads and writes.
struct HostSpace {};
/// Memory of a CUDA device, which kernels and the runtime's copies reach, and the host does not.
struct DeviceSpace {};

template <class Space>
inline constexpr bool is_memory_space =
    std::is_same_v<Space, HostSpace> || std::is_same_v<Space, DeviceSpace>;

inline namespace PRECAST_BACKEND {

/// The space that the ops of this translation unit's backend work in.
#if PRECAST_BACKEND_IS_CUDA
using BackendSpace = DeviceSpace;
#else
using BackendSpace = HostSpace;
#endif

}  // namespace PRECAST_BACKEND

}  // namespace precast
