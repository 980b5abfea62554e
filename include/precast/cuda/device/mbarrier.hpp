// Barriers in shared memory that count arrivals and bytes: mbarrier of the PTX ISA (sm_90), with which a
// thread waits for copies that no thread makes. A barrier goes from phase to phase: one is complete when as
// many threads have arrived as the barrier was made for, and as many bytes have landed as were announced.
#pragma once

#include <cstdint>

#include <precast/cuda/device/memory.hpp>

namespace precast::gpu {

/// A barrier's place in shared memory. What it holds is the device's.
struct alignas(8) Mbarrier {
  std::uint64_t state;
};

#if PRECAST_ON_DEVICE
/// Makes a barrier whose phases take `arrivals` threads. Other threads may use it after a barrier of the
/// block, copies after fence_async_proxy() in this thread as well.
PRECAST_DEVICE void init_mbarrier(SharedPointer<Mbarrier> barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
/// Arrives. What the thread did before is seen by those who wait for the phase.
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
/// third. A barrier that is in its first phase counts as one whose phase of parity 1 is complete. Nobody may
/// be two phases behind.
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
/// What this thread did to shared memory before is seen by what copies and products of warpgroups do after:
/// they go by a way of their own, the asynchronous proxy. Each thread that wrote has to say it, before the
/// barrier that tells the thread which starts them.
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
