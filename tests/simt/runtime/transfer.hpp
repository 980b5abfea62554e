// What device memory and uploads ask of each other.
#pragma once

#include <simt/stream.hpp>

namespace simt::runtime {

/// Lands all uploads, or those that come before work of this clock: before the device does that.
void land_uploads() noexcept;
void land_uploads(const Clock& clock) noexcept;
/// Throws HostMemoryChanged where one that has landed was not what had been started.
void check_uploads();

/// From one to the other, device memory can be reached. They nest.
void open_device();
void close_device();
/// While one lives, device memory can be reached, and nothing lands: how uploads themselves reach it.
class OpenDevice {
 public:
  OpenDevice();
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
};

}  // namespace simt::runtime
