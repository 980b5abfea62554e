// TimedDevice: where steps are timed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <families/device.hpp>
#include <language_model/training_device.hpp>
#include <timing/attention_step.hpp>

namespace precast::timing {

/// A device that is readied for the calling thread as long as a copy of this lives, and what is compiled for
/// it.
struct TimedDevice {
  language_model::TrainingDevice training;
  const std::vector<AttentionPolicy>* attention = nullptr;
  std::string name;  ///< as tables have it: "cpu", "cuda:0 (NVIDIA H200)"
  std::shared_ptr<const families::DeviceSession> session;

  const families::Backend& backend() const { return *training.backend; }
  /// What all devices of its kind are called: "cpu" or "cuda".
  std::string kind() const { return name.substr(0, name.find(':')); }
  /// Returns when what the device was given is done.
  void wait() const { session->wait(); }
};

/// What was chosen for --device.
TimedDevice timed_on(const families::ChosenDevice& chosen);

}  // namespace precast::timing
