// CublasLtPlan: what cuBLASLt chose for a product of one shape.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>

namespace precast::gpu {

/// The workspace of each stream for cuBLASLt: the size that NVIDIA's documentation recommends for Hopper
/// and later; older devices use less of it.
inline constexpr std::uint64_t cublaslt_workspace_bytes = std::uint64_t{32} << 20;

/// The properties of a product that its plan depends on: all but the pointers.
struct CublasLtShape {
  LibraryDtype operand, result;
  std::int64_t rows, features, columns;
  RowLayout x, weight, out, residual;
  bool x_transposed, weight_transposed, has_bias, has_residual, gelu_tanh, x_scale, weight_scale;
  auto operator<=>(const CublasLtShape&) const = default;  // no friend: nvcc 12.0 fails on it
};

/// The shape of a product. Without a residual, the result's layout takes the place of the residual's.
inline CublasLtShape shape_of(const ProductRequest& product) {
  return {.operand = product.operand,
          .result = product.result,
          .rows = product.rows,
          .features = product.features,
          .columns = product.columns,
          .x = product.x.rows,
          .weight = product.weight.rows,
          .out = product.out.rows,
          .residual = product.has_residual ? product.residual.rows : product.out.rows,
          .x_transposed = product.x_transposed,
          .weight_transposed = product.weight_transposed,
          .has_bias = product.has_bias,
          .has_residual = product.has_residual,
          .gelu_tanh = product.gelu_tanh,
          .x_scale = product.scales.x != nullptr,
          .weight_scale = product.scales.weight != nullptr};
}

/// Whether cuBLASLt may be asked for a product. Its fp8 products need sizes and matrices on multiples of 16
/// bytes, and a bias of 16 bits.
inline bool cublaslt_takes(const ProductRequest& product) {
  const CublasLtShape shape = shape_of(product);
  const auto aligned = [](const RowLayout& rows) { return rows.alignment == 16; };
  return product.operand != LibraryDtype::fp8_e4m3 ||
         (product.columns % 16 == 0 && product.features % 16 == 0 && aligned(shape.x) &&
          aligned(shape.weight) && aligned(shape.out) && aligned(shape.residual) &&
          !(product.has_bias && product.result == LibraryDtype::f32));
}

constexpr cudaDataType_t cuda_dtype(LibraryDtype dtype) {
  switch (dtype) {
    case LibraryDtype::f32:
    case LibraryDtype::tf32:
      return CUDA_R_32F;
    case LibraryDtype::bf16:
      return CUDA_R_16BF;
    case LibraryDtype::f16:
      return CUDA_R_16F;
    case LibraryDtype::fp8_e4m3:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

/// The algorithm that cuBLASLt chose. It stores matrices by columns, and computes out^T = weight x^T, where
/// a weight stored by rows is a transposed matrix, and a weight that is stored transposed is not. Its fp8
/// products take only the former.
class CublasLtPlan {
 public:
  CublasLtPlan(cublasLtHandle_t handle, const CublasLtShape& shape) {
    const auto& library = CublasLtLibrary::instance();
    const auto& call = library.functions();
    const std::string doing = "plan a product of " + std::to_string(shape.rows) + " x " +
                              std::to_string(shape.columns) + " by " + std::to_string(shape.columns) + " x " +
                              std::to_string(shape.features);
    const auto compute =
        shape.operand == LibraryDtype::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDesc_t operation = nullptr;
    library.check(call.create_operation(&operation, compute, CUDA_R_32F), doing);
    operation_.reset(operation);
    set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{shape.weight_transposed ? CUBLAS_OP_N : CUBLAS_OP_T});
    set(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{shape.x_transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
    const std::uint32_t epilogue =
        shape.gelu_tanh ? (shape.has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU)
                        : (shape.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    // A bias has the result's dtype; fp8 products, which take no bias in f32, never come here with one.
    if (shape.has_bias)
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(cuda_dtype(shape.result)));

    // The choice depends on whether these pointers are set and on their alignment; the values are not read.
    // A bias is on a multiple of 16 bytes (ProductRequest).
    const std::uintptr_t aligned = 16;
    if (shape.has_bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
    if (shape.weight_scale) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, aligned);
    if (shape.x_scale) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, aligned);

    const auto operand = [&](std::int64_t rows, std::int64_t stride, bool transposed) {
      return layout(cuda_dtype(shape.operand), transposed ? rows : shape.columns,
                    transposed ? shape.columns : rows, stride, doing);
    };
    weight_ = operand(shape.features, shape.weight.stride, shape.weight_transposed);
    x_ = operand(shape.rows, shape.x.stride, shape.x_transposed);
    out_ = layout(cuda_dtype(shape.result), shape.features, shape.rows, shape.out.stride, doing);
    residual_ = layout(cuda_dtype(shape.result), shape.features, shape.rows, shape.residual.stride, doing);

    cublasLtMatmulPreference_t preference = nullptr;
    library.check(call.create_preference(&preference), doing);
    const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroyer> owned(preference);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
      library.check(call.set_preference(preference, which, &value, sizeof value), doing);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, cublaslt_workspace_bytes);
    // cuBLASLt assumes 256 unless set, and leaves out algorithms that need more than is set.
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.weight.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.x.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.residual.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.out.alignment);
    // Split-K sums are added in f32 and in a fixed order; the other schemes round them to the result's
    // dtype in between.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        call.choose_algorithm(handle, operation_.get(), weight_.get(), x_.get(), residual_.get(), out_.get(),
                              preference, 1, &result, &found);
    exists_ = accepted(status, doing) && found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
    algorithm_ = result.algo;
  }

  /// Whether cuBLASLt has code for the product.
  bool exists() const { return exists_; }

  /// Starts the product on a stream; false where cuBLASLt has no code for it after all.
  bool start(cublasLtHandle_t handle, const ProductRequest& product, cudaStream_t stream) {
    const auto& library = CublasLtLibrary::instance();
    if (product.has_bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    if (product.scales.weight) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product.scales.weight);
    if (product.scales.x) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product.scales.x);
    const f32 one = 1, of_residual = product.has_residual ? 1.0f : 0.0f;
    const void* const residual = product.has_residual ? product.residual.data : product.out.data;
    exists_ = accepted(library.functions().multiply(
                           handle, operation_.get(), &one, product.weight.data, weight_.get(), product.x.data,
                           x_.get(), &of_residual, residual, residual_.get(), product.out.data, out_.get(),
                           &algorithm_, product.workspace, product.workspace_bytes, stream),
                       "multiply");
    return exists_;
  }

 private:
  struct Destroyer {
    static const CublasLtFunctions& call() { return CublasLtLibrary::instance().functions(); }
    void operator()(cublasLtMatmulDescOpaque_t* handle) const { (void)call().destroy_operation(handle); }
    void operator()(cublasLtMatrixLayoutOpaque_t* handle) const { (void)call().destroy_layout(handle); }
    void operator()(cublasLtMatmulPreferenceOpaque_t* handle) const {
      (void)call().destroy_preference(handle);
    }
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroyer>;

  /// False where cuBLASLt, or this device, has no code for the product; throws Error for any other
  /// failure.
  static bool accepted(cublasStatus_t status, const std::string& doing) {
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) return false;
    CublasLtLibrary::instance().check(status, doing);
    return true;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, const T& value) {
    const auto& library = CublasLtLibrary::instance();
    library.check(library.functions().set_operation(operation_.get(), which, &value, sizeof value),
                  "describe a product");
  }
  static Layout layout(cudaDataType_t dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                       const std::string& doing) {
    const auto& library = CublasLtLibrary::instance();
    cublasLtMatrixLayout_t made = nullptr;
    library.check(library.functions().create_layout(&made, dtype, static_cast<std::uint64_t>(rows),
                                                    static_cast<std::uint64_t>(columns), stride),
                  doing);
    return Layout(made);
  }

  std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroyer> operation_;
  Layout weight_, x_, out_, residual_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool exists_ = false;
};

}  // namespace precast::gpu
