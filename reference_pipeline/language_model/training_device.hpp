// TrainingDevice: where language models are trained, and the models that are compiled for it.
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

/// A backend, and the policies that models are compiled for it under. Both live as long as the program.
struct TrainingDevice {
  const families::Backend* backend = nullptr;
  const std::vector<TrainingPolicy>* policies = nullptr;
  /// Joins the device that this thread works on to those of the other ranks, which meet over their job: what
  /// is given adds up values of devices. None: the job itself adds up values of this device.
  std::function<std::unique_ptr<cluster::Communicator>(cluster::Communicator& job)> join{};

  /// The policy that a text names. Throws what training_policy does, and PathNotCompiled where this device
  /// has no model under it.
  const TrainingPolicy& policy(const std::string& name) const;
};

/// The CPU.
TrainingDevice training_on_cpu();
/// What was chosen for --device.
TrainingDevice training_on(const families::ChosenDevice& chosen);

}  // namespace precast::language_model
