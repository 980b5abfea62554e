// The device by CUDA.
#include <algorithm>
#include <type_traits>
#include <vector>

#include <cuda/device.hpp>
#include <cuda/recorded_launches.hpp>
#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/code_probe.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>
#include <precast/cuda/runtime/device.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/cuda/runtime/shared_library.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/memory.hpp>

namespace precast::bench {

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cublaslt_text() {
  const auto& library = gpu::CublasLtLibrary::instance();
  std::size_t (*version)() = nullptr;
  if (!library.found() ||
      !gpu::SharedLibrary({library.described().c_str()}).find("cublasLtGetVersion", version))
    return library.described();
  return std::to_string(version());
}

gpu::Device found_device() {
  const gpu::FoundDevice found = gpu::find_device(0, &gpu::probe_code<gpu::LibraryKernels>);
  if (!found.device) throw Error(found.reason);
  gpu::use_device(*found.device);
  return *found.device;
}

/// Kernels among the nodes of the graph that a stream records.
class KernelNodes final : public RecordedLaunches {
  std::int64_t recorded_by(gpu::Stream stream) noexcept override {
    cudaStreamCaptureStatus status{};
    unsigned long long number = 0;
    cudaGraph_t graph = nullptr;
    std::size_t count = 0;
    if (cudaStreamGetCaptureInfo(stream, &status, &number, &graph) != cudaSuccess ||
        status != cudaStreamCaptureStatusActive || cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess)
      return 0;
    std::vector<cudaGraphNode_t> nodes(count);
    if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return 0;
    return std::count_if(nodes.begin(), nodes.end(), [](cudaGraphNode_t node) {
      cudaGraphNodeType type{};
      return cudaGraphNodeGetType(node, &type) == cudaSuccess && type == cudaGraphNodeTypeKernel;
    });
  }
};

class CudaDevice final : public Device {
 public:
  CudaDevice() : device_(found_device()) {
    gpu::check(cudaDeviceGetAttribute(&cache_bytes_, cudaDevAttrL2CacheSize, device_.number),
               "ask for its cache");
    gpu::check(cudaDeviceGetDefaultMemPool(&pool_, device_.number), "get its memory pool");
    evicting_ = BufferIn<gpu::DeviceMemory>(
        std::max<std::size_t>(8 * static_cast<std::size_t>(cache_bytes_), std::size_t{512} << 20));
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    int driver = 0, runtime = 0;
    gpu::check(cudaDriverGetVersion(&driver), "ask for the driver's version");
    gpu::check(cudaRuntimeGetVersion(&runtime), "ask for its own version");
    return {{"device", device_.name},
            {"compute_capability",
             std::to_string(device_.capability / 10) + "." + std::to_string(device_.capability % 10)},
            {"memory_gb", std::to_string(device_.memory / 1'000'000'000)},
            {"cache_mib", std::to_string(cache_bytes_ >> 20)},
            {"cuda_of_driver", version_text(driver)},
            {"cuda_runtime", version_text(runtime)},
            {"cublaslt", cublaslt_text()}};
  }

  std::int64_t free_memory() override {
    gpu::check(cudaStreamSynchronize(gpu::current_stream()), "finish its work");
    gpu::check(cudaMemPoolTrimTo(pool_, 0), "give memory back");
    gpu::check(cudaDeviceGraphMemTrim(device_.number), "give the memory of graphs back");
    std::size_t free_bytes = 0, all_bytes = 0;
    gpu::check(cudaMemGetInfo(&free_bytes, &all_bytes), "ask for free memory");
    return static_cast<std::int64_t>(free_bytes);
  }

  void evict_cache() override {
    gpu::check(cudaMemsetAsync(evicting_.data(), 0, evicting_.capacity(), gpu::current_stream()),
               "overwrite its cache");
  }

  void mark(std::size_t number) override {
    while (marks_.size() <= number) {
      cudaEvent_t event = nullptr;
      gpu::check(cudaEventCreate(&event), "make an event");
      marks_.emplace_back(event, &cudaEventDestroy);
    }
    gpu::check(cudaEventRecord(marks_[number].get(), gpu::current_stream()), "record an event");
  }

  double seconds(std::size_t from, std::size_t to) override {
    float milliseconds = 0;
    gpu::check(cudaEventSynchronize(marks_.at(to).get()), "finish its work");
    gpu::check(cudaEventElapsedTime(&milliseconds, marks_.at(from).get(), marks_.at(to).get()),
               "measure time");
    return milliseconds / 1e3;
  }

  std::int64_t launches_recorded(const std::function<void()>& work) override { return recorded_.of(work); }

 private:
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, decltype(&cudaEventDestroy)>;

  gpu::Device device_;
  int cache_bytes_ = 0;
  cudaMemPool_t pool_ = nullptr;
  KernelNodes recorded_;  // what a stream keeps may be its memory
  gpu::OwnStream stream_;
  BufferIn<gpu::DeviceMemory> evicting_;
  std::vector<Event> marks_;
};

}  // namespace

std::unique_ptr<Device> open_device() { return std::make_unique<CudaDevice>(); }

}  // namespace precast::bench
