// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace precast::process {

/// Bytes that the system says are available to this process: the least of what is free, what its control
/// group allows and what its address-space limit leaves. Nothing where the system does not tell.
std::optional<std::int64_t> free_memory();

/// How the C library keeps small blocks from now on; for the start of a program. All threads take them from
/// one heap: with one for each, what one thread frees no other takes, and the largest size of a run went up
/// by 8 MiB where another thread happened to come first. Up to 32 MiB at its end stay when they are free:
/// given back, their pages come anew, zeroed, for the next op's result (11,000 of them in a step of a UNet).
void configure_heap();

/// Gives memory that nobody holds back to the system: the pool's free blocks, and the holes that weights
/// leave between what stays.
void give_back_memory();

/// Bytes of this process that are in memory now; 0 where the system does not tell.
std::int64_t resident_memory();
/// The most that were in memory at once since the program began; 0 where the system does not tell.
std::int64_t peak_resident_memory();

}  // namespace precast::process
