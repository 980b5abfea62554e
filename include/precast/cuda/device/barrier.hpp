// Barriers and fences. In the emulator each call is a site, known by file and line, which a test may silence.
#pragma once

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

#if PRECAST_ON_DEVICE
/// Waits for all threads of the block; what they wrote before is seen after.
PRECAST_DEVICE void sync_block(Site = {}) { __syncthreads(); }
/// Waits for `threads` threads, whole warps, that name the same barrier: 1 to 15.
PRECAST_DEVICE void sync_named(int barrier, int threads, Site = {}) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// Waits for the lanes of a warp.
PRECAST_DEVICE void sync_warp(unsigned lanes = 0xffffffffu, Site = {}) { __syncwarp(lanes); }
/// What the thread wrote is seen by its block, or by the device, before what it writes next.
PRECAST_DEVICE void fence_block(Site = {}) { __threadfence_block(); }
PRECAST_DEVICE void fence_device(Site = {}) { __threadfence(); }
#else
using simt::fence_block;
using simt::fence_device;
using simt::sync_block;
using simt::sync_named;
using simt::sync_warp;
#endif

}  // namespace precast::gpu
