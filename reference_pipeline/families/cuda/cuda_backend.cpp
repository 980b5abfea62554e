// A CUDA device as a backend: the models of kernels/'s CUDA instances, compiled with PRECAST_USE_CUDA.
#include <map>
#include <mutex>

#include <families/compiled_backend.hpp>
#include <families/cuda_backend.hpp>

#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/runtime/code_probe.hpp>
#include <precast/cuda/runtime/device.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/visit.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::families {

namespace {

/// Links every path's products with weights in file blocks, and those of the watch hook, into the program.
void link_products() {
  for_each_path([]<class Path>(Path) {
    gpu::link_block_products<typename precisions<typename Path::policy, Matmul>::operand>();
  });
  if constexpr (watch::compiled) gpu::link_block_products<f32>();
}

class CudaSession final : public DeviceSession {
 public:
  void wait() const override { gpu::wait_for(stream_.context().stream); }

 private:
  gpu::OwnStream stream_;
};

class CudaBackend final : public CompiledBackend {
 public:
  explicit CudaBackend(const gpu::Device& device) : device_(device) {}

  std::unique_ptr<DeviceSession> start() const override {
    link_products();
    gpu::use_device(device_);
    return std::make_unique<CudaSession>();
  }
  std::optional<std::int64_t> free_memory() const override {
    const auto found = gpu::find_device(device_.number);
    return found.device ? std::optional(found.device->free_memory) : std::nullopt;
  }
  DryRun::Counts counted_memory() const override { return DryRun::Counts::device_memory; }
  MemoryUse memory_use() const override { return gpu::memory_use(); }
  void reset_peak_memory() const override { gpu::reset_peak_memory(); }

  std::string name() const { return "cuda:" + std::to_string(device_.number) + " (" + device_.name + ")"; }

 private:
  gpu::Device device_;
};

}  // namespace

ChosenDevice find_cuda_backend(int number) {
  static std::mutex mutex;
  static std::map<int, CudaBackend> known;
  const gpu::FoundDevice found = gpu::find_device(number, &gpu::probe_code<gpu::LibraryKernels>);
  if (!found.device) return {nullptr, {}, found.reason};
  const std::lock_guard lock(mutex);
  const CudaBackend& backend = known.try_emplace(number, *found.device).first->second;
  return {.backend = &backend, .name = backend.name(), .reason = "it is the fastest here", .is_cuda = true};
}

int count_cuda_devices() { return gpu::count_devices(); }

}  // namespace precast::families
