// The emulated device's memory: a range of addresses that the host may not touch while no kernel runs.
#pragma once

#include <cstddef>

namespace simt {

/// Memory of the device, filled with NaN, 256-byte aligned. Throws precast::OutOfMemory.
void* allocate_device(std::size_t bytes);
void free_device(void* block, std::size_t bytes) noexcept;

/// While one lives, device memory can be reached: kernels and copies hold one, before which all uploads land.
/// Anybody else who touches it is stopped by the system, as a program that reads a device's pointer would be.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace simt
