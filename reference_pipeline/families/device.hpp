// The device that a pipeline runs on, and why.
#pragma once

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

/// Chooses a device by name: "auto" (CUDA where it is to be had, else the CPU), "cpu", "cuda" or "cuda:N".
/// Throws RequestError for another name, and InputError for CUDA where it is not to be had, saying why.
ChosenDevice choose_device(std::string_view wanted);

}  // namespace precast::families
