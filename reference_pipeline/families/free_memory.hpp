// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace precast::families {

/// Bytes that the system says are available to this process: the least of what is free, what its control
/// group allows and what its address-space limit leaves. Nothing where the system does not tell.
std::optional<std::int64_t> free_memory();

}  // namespace precast::families
