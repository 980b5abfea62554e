// cuBLASLt as the library of matrix products; nothing in the emulator, which has no library.
#pragma once

#include <precast/cuda/runtime/stream.hpp>

#if !PRECAST_CUDA_IS_EMULATED

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <precast/cuda/matmul/cublaslt_plan.hpp>
#include <precast/cuda/matmul/library_product.hpp>
#include <precast/cuda/matmul/round_values.hpp>
#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

namespace detail {

/// Memory of a stream that is given back when what the stream does until then is done.
class StreamScratch {
 public:
  StreamScratch(std::int64_t bytes, cudaStream_t stream) : stream_(stream) {
    check(cudaMallocAsync(&data_, static_cast<std::size_t>(bytes), stream),
          "get " + std::to_string(bytes >> 20) + " MiB for the operands of a product");
  }
  ~StreamScratch() { (void)cudaFreeAsync(data_, stream_); }
  StreamScratch(const StreamScratch&) = delete;
  StreamScratch& operator=(const StreamScratch&) = delete;

  template <class T>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace detail

/// The products of one process: a handle for each device, a workspace for each stream, and what cuBLASLt
/// chose for each shape. Any thread may call it. The first product of a stream takes its workspace, and the
/// first of a shape asks cuBLASLt's heuristics: a stream is captured into a graph only after it has run once.
class CublasLt {
 public:
  /// Starts the product and returns true, or returns false where cuBLASLt has no code for it. Throws Error
  /// where a call fails.
  bool multiply(const LibraryProduct& product, cudaStream_t stream) {
    // fp8 from sm_89 on, sizes in multiples of 16, a bias in 16 bits.
    if (product.operand == LibraryDtype::fp8_e4m3 && (product.columns % 16 || product.features % 16 ||
                                                      (product.bias && product.result == LibraryDtype::f32)))
      return false;
    int device = 0;
    cuda::check(cudaGetDevice(&device), "find the current device");
    const std::lock_guard lock(mutex_);
    OfDevice& own = devices_[device];
    if (!own.handle) {
      const auto& library = CublasLtLibrary::instance();
      library.check(library.functions().create(&own.handle), "start on device " + std::to_string(device));
    }
    const CublasLtShape shape = shape_of(product);
    CublasLtPlan& plan = own.plans.try_emplace(shape, own.handle, shape).first->second;
    if (!plan.exists()) return false;
    void*& workspace = own.workspaces[stream];
    if (!workspace)
      cuda::check(cudaMalloc(&workspace, cublaslt_workspace_bytes), "get a workspace for cuBLASLt");

    std::unique_ptr<detail::StreamScratch> scratch;
    const void* x = product.x;
    const void* weight = product.weight;
    const void* bias = product.bias;
    if (product.operand == LibraryDtype::tf32) {
      // cuBLASLt would cut the lowest bits off; a policy's tf32 is rounded to nearest, even. Strides stay
      // multiples of 16 bytes.
      const std::int64_t stride = (product.columns + 3) / 4 * 4;
      scratch =
          std::make_unique<detail::StreamScratch>((product.rows + product.features) * stride * 4, stream);
      f32* const rounded = scratch->data<f32>();
      round<tf32, f32>(product.x, product.rows, product.columns, product.x_stride, rounded, stride, stream);
      round<tf32, f32>(product.weight, product.features, product.columns, product.weight_stride,
                       rounded + product.rows * stride, stride, stream);
      x = rounded;
      weight = rounded + product.rows * stride;
    } else if (product.bias && product.result != LibraryDtype::f32) {
      scratch = std::make_unique<detail::StreamScratch>(product.features * 2, stream);
      bias = scratch->data<void>();
      if (product.result == LibraryDtype::bf16)
        round<bf16, f32>(product.bias, 1, product.features, product.features, scratch->data<bf16>(),
                         product.features, stream);
      else
        round<f16, f32>(product.bias, 1, product.features, product.features, scratch->data<f16>(),
                        product.features, stream);
    }
    plan.start(own.handle, product, x, weight, bias, workspace, stream);
    return true;
  }

  /// Gives the workspace of a stream back, before the stream is destroyed.
  void forget(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    for (auto& [device, own] : devices_)
      if (const auto found = own.workspaces.find(stream); found != own.workspaces.end()) {
        (void)cudaFree(found->second);
        own.workspaces.erase(found);
      }
  }

  static CublasLt& instance() {
    static auto* const library = new CublasLt;  // not destroyed: at exit the driver may be gone before us
    return *library;
  }

 private:
  struct OfDevice {
    cublasLtHandle_t handle = nullptr;
    std::map<CublasLtShape, CublasLtPlan> plans;
    std::map<cudaStream_t, void*> workspaces;
  };

  template <class Operand, class From>
  static void round(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t from_stride,
                    HeldDtype<Operand>* to, std::int64_t to_stride, cudaStream_t stream) {
    round_values<Operand>(View<const From>(static_cast<const From*>(from), {rows, columns}, from_stride),
                          View<HeldDtype<Operand>>(to, {rows, columns}, to_stride), stream);
  }

  std::mutex mutex_;
  std::map<int, OfDevice> devices_;
};

/// cuBLASLt, or nothing where it was not found (CublasLtLibrary::described says why).
inline ProductLibrary cublaslt_products() {
  if (!CublasLtLibrary::instance().found()) return {};
  return {[](const LibraryProduct& product, Stream stream) {
    return CublasLt::instance().multiply(product, stream);
  }};
}

}  // namespace precast::cuda

#endif
