// Exchanges among the lanes of a warp. All 32 lanes must call.
#pragma once

#include <cstdint>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

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
