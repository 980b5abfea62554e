// TrainingDevice: a device for training language models, and the models compiled for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <families/backend.hpp>
#include <families/device.hpp>
#include <language_model/trained_model.hpp>

#include <precast/cluster/communicator.hpp>

namespace precast::language_model {

/// A backend, and its training policies. Both live as long as the program.
struct TrainingDevice {
  const families::Backend* backend = nullptr;
  const std::vector<TrainingPolicy>* policies = nullptr;
  /// Connects the calling thread's device with those of the other ranks through their job: the result sums
  /// values in device memory. Empty: the job itself sums values of this device.
  std::function<std::unique_ptr<cluster::Communicator>(cluster::Communicator& job)> join{};

  /// The policy of a text. Throws what training_policy throws, and PathNotCompiled if this device has no
  /// model for it.
  const TrainingPolicy& policy(const std::string& name) const;
};

/// The CPU.
TrainingDevice training_on_cpu();
/// The device chosen by --device.
TrainingDevice training_on(const families::ChosenDevice& chosen);

}  // namespace precast::language_model
