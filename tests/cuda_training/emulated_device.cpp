// Compiled with PRECAST_EMULATE_CUDA: the models that are named here are the CUDA backend's.
#include <cuda_training/emulated_device.hpp>
#include <language_model/compiled_model.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/error.hpp>

namespace precast::testing {

namespace {

class EmulatedSession final : public families::DeviceSession {
 public:
  void wait() const override { gpu::wait_for(stream_.context().stream); }

 private:
  gpu::OwnStream stream_;
};

/// Products by our own kernels: no library stands in for cuBLASLt.
class EmulatedBackend final : public families::Backend {
 public:
  std::span<const families::FamilyModels* const> models(const PolicyChoice&) const override {
    throw PathNotCompiled("language models alone are emulated here");
  }
  std::unique_ptr<families::DeviceSession> start() const override {
    return std::make_unique<EmulatedSession>();
  }
  std::optional<std::int64_t> free_memory() const override { return std::nullopt; }
  DryRun::Counts counted_memory() const override { return DryRun::Counts::device_memory; }
  MemoryUse memory_use() const override { return gpu::memory_use(); }
  void reset_peak_memory() const override { gpu::reset_peak_memory(); }
};

}  // namespace

language_model::TrainingDevice emulated_training_device() {
  static const EmulatedBackend backend;
  return {&backend, &language_model::compiled_training_policies()};
}

}  // namespace precast::testing
