// The library of matrix products that this process uses.
#pragma once

#include <utility>

#include <precast/cuda/matmul/library_product.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/matmul/cublaslt.hpp>
#endif

namespace precast::cuda {

namespace detail {
inline ProductLibrary& library_of_process() {
#if PRECAST_CUDA_IS_EMULATED
  static ProductLibrary library;
#else
  static ProductLibrary library = cublaslt_products();
#endif
  return library;
}
}  // namespace detail

/// cuBLASLt on a device, where it was found; none in the emulator. Without one our own kernels multiply
/// everything.
inline const ProductLibrary& product_library() { return detail::library_of_process(); }

/// Another library for as long as it lives. Not to be made while other threads multiply.
class ProductLibraryScope {
 public:
  explicit ProductLibraryScope(ProductLibrary library)
      : before_(std::exchange(detail::library_of_process(), std::move(library))) {}
  ~ProductLibraryScope() { detail::library_of_process() = std::move(before_); }
  ProductLibraryScope(const ProductLibraryScope&) = delete;
  ProductLibraryScope& operator=(const ProductLibraryScope&) = delete;

 private:
  ProductLibrary before_;
};

}  // namespace precast::cuda
