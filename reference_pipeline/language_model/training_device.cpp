// The devices for training language models. Builds without CUDA have only the CPU.
#include <language_model/training_device.hpp>

#include <precast/error.hpp>

#if PRECAST_HAS_CUDA
#include <language_model/cuda_models.hpp>
#endif

namespace precast::language_model {

const TrainingPolicy& TrainingDevice::policy(const std::string& name) const {
  const TrainingPolicy& known = training_policy(name);
  for (const TrainingPolicy& policy : *policies)
    if (policy.name == known.name) return policy;
  throw PathNotCompiled("the policy of training " + known.name +
                        " has models for the CPU alone in this build: train with --device cpu");
}

TrainingDevice training_on_cpu() { return {&families::cpu_backend(), &training_policies()}; }

TrainingDevice training_on([[maybe_unused]] const families::ChosenDevice& chosen) {
#if PRECAST_HAS_CUDA
  if (chosen.is_cuda) return {chosen.backend, &cuda_training_policies(), &join_devices};
#endif
  return training_on_cpu();
}

}  // namespace precast::language_model
