// The device that a pipeline runs on, and why.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace precast::families {

class Backend;

/// The device chosen for a name.
struct ChosenDevice {
  const Backend* backend = nullptr;  ///< for a pipeline; lives as long as the program
  std::string name;                  ///< "cpu", "cuda:0 (NVIDIA H200)"
  std::string reason;                ///< why "auto" chose it; empty where it had no choice
  bool is_cuda = false;
};

/// Chooses a device by name: "auto" (the first CUDA device that can be used, else the CPU), "cpu",
/// "cuda" or "cuda:N". Throws RequestError for another name, and InputError that says why CUDA cannot be
/// used.
ChosenDevice choose_device(std::string_view wanted);

/// The first of `count` devices for which `find` has a backend; its reason says why those before it were
/// skipped. Where none has, the result has no backend and all reasons. With no devices, it is `find(0)`.
ChosenDevice first_usable_device(int count, const std::function<ChosenDevice(int)>& find);

}  // namespace precast::families
