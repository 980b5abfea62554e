// Compiled with PRECAST_EMULATE_CUDA: the models that are named here are the CUDA backend's.
#include <cuda_pipeline/emulated_device.hpp>
#include <cuda_training/emulated_device.hpp>
#include <language_model/compiled_model.hpp>

#include <precast/error.hpp>

namespace precast::testing {

namespace {

class TrainingBackend final : public EmulatedBackend {
 public:
  std::span<const families::FamilyModels> models(const PolicyChoice&) const override {
    throw PathNotCompiled("language models alone are emulated here");
  }
};

}  // namespace

language_model::TrainingDevice emulated_training_device() {
  static const TrainingBackend backend;
  return {&backend, &language_model::compiled_training_policies()};
}

}  // namespace precast::testing
