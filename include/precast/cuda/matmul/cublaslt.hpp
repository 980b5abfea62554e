// cuBLASLt as the library of matrix products. The emulator has no library: our own kernels multiply
// everything there, except in tests that use a host's product instead (product_request.hpp).
#pragma once

#include <type_traits>

#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/library_in_use.hpp>
#include <precast/cuda/runtime/stream.hpp>

#if !PRECAST_CUDA_IS_EMULATED

#include <map>
#include <mutex>
#include <string>

#include <precast/cuda/matmul/cublaslt_plan.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>
#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu {

/// The products of one process: a handle for each device, and what cuBLASLt chose for each shape. Any thread
/// may call it. The first product of a stream takes its workspace, and the first of a shape asks cuBLASLt's
/// heuristics: a stream is captured into a graph only after it has run once.
class CublasLt {
 public:
  /// Whether the current device may have code for a product. Throws Error where a call fails.
  bool has_code(const ProductRequest& product) {
    if (!cublaslt_takes(product)) return false;
    const std::lock_guard lock(mutex_);
    return plan_for(product, current_device()).exists();
  }

  /// Starts a product; returns false where cuBLASLt has no code for it, which has_code then remembers.
  bool multiply(const ProductRequest& product, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    OfDevice& device = current_device();
    return plan_for(product, device).start(device.handle, product, stream);
  }

  static CublasLt& instance() {
    static auto* const library = new CublasLt;  // not destroyed: at exit the driver may be gone before us
    return *library;
  }

 private:
  struct OfDevice {
    cublasLtHandle_t handle = nullptr;
    std::map<CublasLtShape, CublasLtPlan> plans;
  };

  OfDevice& current_device() {
    const int number = detail::current_device();
    OfDevice& device = devices_[number];
    if (!device.handle) {
      const auto& library = CublasLtLibrary::instance();
      library.check(library.functions().create(&device.handle), "start on device " + std::to_string(number));
    }
    return device;
  }
  static CublasLtPlan& plan_for(const ProductRequest& product, OfDevice& device) {
    const CublasLtShape shape = shape_of(product);
    return device.plans.try_emplace(shape, device.handle, shape).first->second;
  }

  std::mutex mutex_;
  std::map<int, OfDevice> devices_;
};

/// cuBLASLt, or nothing where it was not found (CublasLtLibrary::described says why).
inline ProductLibrary cublaslt_products() {
  if (!CublasLtLibrary::instance().found()) return {};
  return {.has_code = [](const ProductRequest& product) { return CublasLt::instance().has_code(product); },
          .multiply = [](const ProductRequest& product,
                         Stream stream) { return CublasLt::instance().multiply(product, stream); },
          .workspace_bytes = cublaslt_workspace_bytes};
}

}  // namespace precast::gpu

#endif

namespace precast::gpu {

/// cuBLASLt on a device, where it was found; none in the emulator.
inline ProductLibrary default_library(std::type_identity<ProductLibrary>) {
#if PRECAST_CUDA_IS_EMULATED
  return {};
#else
  return cublaslt_products();
#endif
}

}  // namespace precast::gpu
