// The device that a pipeline runs on, and why.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace precast::families {

class Backend;

/// What was chosen for a name of a device.
struct ChosenDevice {
  const Backend* backend = nullptr;  ///< for a pipeline; lives as long as the program
  std::string name;                  ///< "cpu", "cuda:0 (NVIDIA H200)"
  std::string reason;                ///< why "auto" chose it; empty where it had no choice
  bool is_cuda = false;
};

/// Chooses a device by name: "auto" (the first CUDA device that can be used, else the CPU), "cpu", "cuda" or
/// "cuda:N". Throws RequestError for another name, and InputError for CUDA where it is not to be had, saying
/// why.
ChosenDevice choose_device(std::string_view wanted);

/// The first of `count` devices for which `find` has a backend, its reason saying why those before it were
/// passed over; without a backend, and with all reasons, where none has. Of no devices: what is found for 0.
ChosenDevice first_usable_device(int count, const std::function<ChosenDevice(int)>& find);

}  // namespace precast::families
