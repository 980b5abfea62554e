// What device memory and uploads ask of each other.
#pragma once

namespace simt::runtime {

/// Lands all uploads: before anything else that the device does.
void land_uploads() noexcept;
/// Throws HostMemoryChanged where one that has landed was not what had been started.
void check_uploads();

/// While one lives, device memory can be reached, and nothing lands: how uploads themselves reach it.
class OpenDevice {
 public:
  OpenDevice();
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
};

}  // namespace simt::runtime
