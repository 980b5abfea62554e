// Memory spaces: who can read an address. A view has one in its type, so that memory of the host given to a
// kernel of the device does not compile.
#pragma once

#include <type_traits>

#include <precast/backend.hpp>

namespace precast {

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
