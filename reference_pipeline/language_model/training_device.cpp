// The devices that language models are trained on. Builds without CUDA have the CPU alone.
#include <families/device.hpp>
#include <language_model/training_device.hpp>

#if PRECAST_HAS_CUDA
#include <language_model/cuda_models.hpp>
#endif

namespace precast::language_model {

TrainingDevice training_on_cpu() {
  return {&families::cpu_backend(), [](const std::string& policy, const LanguageModelConfig& config,
                                       const ParameterValues& values) {
            return training_policy(policy).make(config, values);
          }};
}

TrainingDevice training_device(const std::string& name) {
  [[maybe_unused]] const families::ChosenDevice chosen = families::choose_device(name);
#if PRECAST_HAS_CUDA
  if (chosen.is_cuda) return {chosen.backend, &make_cuda_model};
#endif
  return training_on_cpu();
}

}  // namespace precast::language_model
