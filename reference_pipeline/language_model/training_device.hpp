// TrainingDevice: where language models are trained, and the models that are compiled for it.
#pragma once

#include <memory>
#include <string>

#include <families/backend.hpp>
#include <language_model/trained_model.hpp>

namespace precast::language_model {

/// A backend, and what makes models for it.
struct TrainingDevice {
  const families::Backend* backend = nullptr;
  /// The model of a policy, by its name. Throws InputError for a name that is none, and PathNotCompiled where
  /// the build has no such model for this backend.
  std::unique_ptr<TrainedModel> (*make)(const std::string& policy, const LanguageModelConfig& config,
                                        const ParameterValues& values) = nullptr;
};

/// The CPU.
TrainingDevice training_on_cpu();
/// The device of that name, as --device takes it: "auto" (CUDA where it is to be had), "cpu", "cuda" or
/// "cuda:N". Throws what choose_device does.
TrainingDevice training_device(const std::string& name);

}  // namespace precast::language_model
