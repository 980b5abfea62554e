// Where a thread is: in its warp, its block and the grid. Blocks are lines of threads, grids have up to three
// dimensions.
#pragma once

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

}  // namespace precast::gpu
