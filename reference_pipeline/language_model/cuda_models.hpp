// Language models in training on CUDA devices: defined where the build has CUDA.
#pragma once

#include <memory>
#include <string>

#include <language_model/trained_model.hpp>

namespace precast::language_model {

/// The model of a policy on the thread's current device. Throws as TrainingDevice::make does.
std::unique_ptr<TrainedModel> make_cuda_model(const std::string& policy, const LanguageModelConfig& config,
                                              const ParameterValues& values);

}  // namespace precast::language_model
