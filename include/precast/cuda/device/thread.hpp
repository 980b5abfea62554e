// Where a thread is: in its warp, its block and the grid; where it waits for others, and what the lanes of a
// warp exchange. Blocks are lines of threads, grids have up to three dimensions. In the emulator each barrier
// and fence is a site, known by file and line, which a test may silence.
#pragma once

#include <cstdint>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

inline constexpr int threads_per_warp = 32;

/// A place in a grid, or its size.
struct GridIndex {
  int x = 1, y = 1, z = 1;
};

#if PRECAST_ON_DEVICE
/// The thread's number in its block.
PRECAST_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
PRECAST_DEVICE int threads_in_block() { return static_cast<int>(blockDim.x); }
/// The block's place in the grid.
PRECAST_DEVICE GridIndex block_index() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
}
PRECAST_DEVICE GridIndex grid_size() {
  return {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), static_cast<int>(gridDim.z)};
}
#else
using simt::thread_index;
using simt::threads_in_block;
PRECAST_DEVICE GridIndex block_index() {
  const auto place = simt::block_index();
  return {place[0], place[1], place[2]};
}
PRECAST_DEVICE GridIndex grid_size() {
  const auto size = simt::grid_size();
  return {size[0], size[1], size[2]};
}
#endif

/// The thread's number in its warp, and the warp's number in its block.
PRECAST_DEVICE int lane_index() { return thread_index() % threads_per_warp; }
PRECAST_DEVICE int warp_index() { return thread_index() / threads_per_warp; }

#if PRECAST_ON_DEVICE
/// Waits for all threads of the block; what they wrote before is seen after.
PRECAST_DEVICE void sync_block(Site = {}) { __syncthreads(); }
/// Waits for `threads` threads, whole warps, that name the same barrier: 1 to 15.
PRECAST_DEVICE void sync_named(int barrier, int threads, Site = {}) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// Waits for the lanes of a warp.
PRECAST_DEVICE void sync_warp(unsigned lanes = 0xffffffffu, Site = {}) { __syncwarp(lanes); }
/// Orders this thread's earlier writes before its later ones, as its block, or the device, sees them.
PRECAST_DEVICE void fence_block(Site = {}) { __threadfence_block(); }
PRECAST_DEVICE void fence_device(Site = {}) { __threadfence(); }
#else
using simt::fence_block;
using simt::fence_device;
using simt::sync_block;
using simt::sync_named;
using simt::sync_warp;
#endif

// Exchanges among the lanes of a warp: all 32 lanes must call.
#if PRECAST_ON_DEVICE
/// The value that another lane passed. T: 4 bytes.
template <class T>
PRECAST_DEVICE T shuffle(T value, int from_lane) {
  return __shfl_sync(0xffffffffu, value, from_lane);
}
template <class T>
PRECAST_DEVICE T shuffle_xor(T value, int lane_bits) {
  return __shfl_xor_sync(0xffffffffu, value, lane_bits);
}
/// The value of the lane `distance` above; the last lanes keep their own.
template <class T>
PRECAST_DEVICE T shuffle_down(T value, int distance) {
  return __shfl_down_sync(0xffffffffu, value, distance);
}
/// A bit for each lane: whether it passed true.
PRECAST_DEVICE std::uint32_t warp_ballot(bool value) { return __ballot_sync(0xffffffffu, value); }
#else
using simt::shuffle;
using simt::shuffle_down;
using simt::shuffle_xor;
using simt::warp_ballot;
#endif

}  // namespace precast::gpu
