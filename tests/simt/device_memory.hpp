// The emulated device's memory: a range of addresses that the host may not touch while no kernel runs.
#pragma once

#include <cstddef>

#include <simt/stream.hpp>

namespace simt {

/// Memory of the device in the order of a stream (cudaMallocAsync), filled with NaN, 256-byte aligned: work
/// of another stream may touch it where it is ordered behind the allocation and before the end, and where
/// those who write are ordered against all others. A block is one thing: its parts are not told apart. Throws
/// precast::OutOfMemory, Unordered.
void* allocate_device(std::size_t bytes, Stream stream);
void free_device(void* block, std::size_t bytes, Stream stream) noexcept;

/// While one lives, the test can look at the device's memory, where all uploads have landed; it says nothing
/// about streams. Kernels, copies and what stands in for them are a StreamWork. Anybody else who touches the
/// memory is stopped by the system, as a program that reads a device's pointer would be.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace simt
