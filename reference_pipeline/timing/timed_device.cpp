// The devices that steps are timed on. Builds without CUDA have the CPU alone.
#include <timing/timed_device.hpp>

namespace precast::timing {

TimedDevice timed_on(const families::ChosenDevice& chosen) {
  const std::vector<AttentionPolicy>* attention = &attention_policies();
#if PRECAST_HAS_CUDA
  if (chosen.is_cuda) attention = &cuda_attention_policies();
#endif
  return {language_model::training_on(chosen), attention, chosen.name, chosen.backend->start()};
}

}  // namespace precast::timing
