// CUDA devices as backends, only in builds with CUDA.
#pragma once

#include <families/device.hpp>

namespace precast::families {

/// The backend of a device by its number, or, without a backend, the reason why it cannot be used.
ChosenDevice find_cuda_backend(int number);

/// The number of CUDA devices, usable or not; 0 where there is no driver.
int count_cuda_devices();

}  // namespace precast::families
