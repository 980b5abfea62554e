// The memory of this process: free, resident and peak.
#pragma once

#include <cstdint>
#include <optional>

namespace precast::process {

/// Bytes available to this process: the least of free memory, what its control group allows and what its
/// address-space limit leaves. Nothing where the system does not report it. Where `processes` are about to
/// allocate at once, one gets an equal share of memory and control group.
std::optional<std::int64_t> free_memory(std::int64_t processes = 1);

/// Configures the C library's heap; call at the start of a program. All threads allocate from one arena:
/// with one for each, no thread reuses what another freed, and the peak of a run grew by 8 MiB, depending
/// on which thread came first. Up to 32 MiB of free memory stay at the heap's end: once trimmed, their
/// pages would be faulted in again, zeroed, for the next op's result (11,000 pages in a step of a UNet).
void configure_heap();

/// Returns unused memory to the system: the pool's free blocks, and the holes that freed weights leave in
/// the heap.
void give_back_memory();

/// Resident bytes of this process; 0 where the system does not report them.
std::int64_t resident_memory();
/// Peak resident bytes since the program began; 0 where the system does not report them.
std::int64_t peak_resident_memory();

}  // namespace precast::process
