// cp_async: asynchronous copies from global to shared memory, cp.async of PTX ISA 7.0 (sm_80).
// The emulator lets each copy land at once, or as late as its wait, as a test chooses.
#pragma once

#include <precast/cuda/device/memory.hpp>

namespace precast::gpu {

#if PRECAST_ON_DEVICE
/// Starts a copy of Bytes (4, 8 or 16) to an address that is a multiple of Bytes; `valid` of them are read,
/// the rest become zeros. `from` must be a valid address even where nothing is read.
template <int Bytes, class T>
PRECAST_DEVICE void cp_async(SharedPointer<T> to, GlobalPointer<const T> from, int valid = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp_async: 4, 8 or 16 bytes at a time.");
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(Bytes),
                 "r"(valid)
                 : "memory");
}
/// Closes the group of the copies that this thread has started since the last one.
PRECAST_DEVICE void cp_async_commit(Site = {}) { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most Groups of this thread's groups are in flight. Other threads see the copied bytes
/// after a barrier.
template <int Groups>
PRECAST_DEVICE void cp_async_wait(Site = {}) {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
#else
using simt::cp_async;
using simt::cp_async_commit;
using simt::cp_async_wait;
#endif

}  // namespace precast::gpu
