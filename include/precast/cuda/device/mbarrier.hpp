// Barriers in shared memory that count arrivals and bytes: mbarrier of the PTX ISA (sm_90), on which
// threads wait for asynchronous copies. A phase of a barrier is complete when as many threads have arrived
// as the barrier was initialised for, and as many bytes have landed as were announced.
#pragma once

#include <cstdint>

#include <precast/cuda/device/memory.hpp>

namespace precast::gpu {

/// A barrier in shared memory. Its contents are opaque.
struct alignas(8) Mbarrier {
  std::uint64_t state;
};

#if PRECAST_ON_DEVICE
/// Initialises a barrier for `arrivals` arrivals in each phase. Other threads may use it after a barrier of
/// the block, copies only after fence_async_proxy() in this thread as well.
PRECAST_DEVICE void init_mbarrier(SharedPointer<Mbarrier> barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
/// Arrives. Threads that wait for the phase see what this thread did before.
PRECAST_DEVICE void arrive(SharedPointer<Mbarrier> barrier, Site = {}) {
  asm volatile("{ .reg .b64 phase; mbarrier.arrive.shared.b64 phase, [%0]; }" ::"r"(shared_address(barrier))
               : "memory");
}
/// Arrives, and announces that so many bytes will land in this phase.
PRECAST_DEVICE void arrive_expect_tx(SharedPointer<Mbarrier> barrier, int bytes, Site = {}) {
  asm volatile(
      "{ .reg .b64 phase; mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 phase, [%0], %1; }" ::"r"(
          shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
/// Waits until the phase of this parity is complete: 0 for the first, 1 for the second, 0 again for the
/// third. While a barrier is in its first phase, waiting for parity 1 returns at once. No thread may be two
/// phases behind.
PRECAST_DEVICE void wait_parity(SharedPointer<Mbarrier> barrier, int parity, Site = {}) {
  std::uint32_t complete;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(complete)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  } while (!complete);
}
/// Orders this thread's earlier accesses to shared memory before later ones by TMA copies and wgmma, which
/// go through the async proxy. Each thread that wrote must call it, before the barrier that releases the
/// thread which starts the copies or products.
PRECAST_DEVICE void fence_async_proxy(Site = {}) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#else
using simt::arrive;
using simt::arrive_expect_tx;
using simt::fence_async_proxy;
using simt::init_mbarrier;
using simt::wait_parity;
#endif

}  // namespace precast::gpu
