// Which products the library multiplies, and how it is asked.
#pragma once

#include <type_traits>

#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/library_product.hpp>
#include <precast/cuda/matmul/matrix_rows.hpp>
#include <precast/cuda/matmul/product_library.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

/// Whether the library multiplies these dtypes as the op table says. It sums in f32, rounds results once, to
/// nearest, and does not clamp; results in fp8 it would clamp. It takes a bias only in the result's dtype:
/// one of the weight's storage must be exact in it. x is rounded to operands first; a weight only to tf32,
/// where no value takes more memory, because others are multiplied by our tiled kernel faster than they are
/// read and written again.
template <class Types>
inline constexpr bool library_has_dtypes = [] {
  using Operand = typename Types::operand;
  using Result = typename Types::result;
  using Storage = typename Types::storage;
  if constexpr (is_library_dtype<Operand> && is_library_dtype<Result>)
    return std::is_same_v<typename Types::accumulate, f32> && !Types::saturate &&
           std::is_same_v<Storage, LibraryOperand<Operand>> && widens_exactly<Result, Storage> &&
           (std::is_same_v<Result, f32> ||
            (sizeof(Result) == 2 && (std::is_same_v<Result, Operand> || std::is_same_v<Operand, fp8_e4m3>)));
  return false;
}();

/// Starts the product and returns true, or returns false where it is ours. The library has bias, gelu (tanh)
/// and a residual in its own epilogue; whatever else follows a product is done by our tiled kernel in the
/// same pass, rather than by another kernel that reads and writes all results again.
template <class Types, class X>
bool multiply_by_library(const DeviceView<const X>& x,
                         const DeviceView<const typename Types::storage>& weight, const Epilogue& epilogue,
                         const DeviceView<const typename Types::result>& residual,
                         const DeviceView<typename Types::result>& out, const OperandScales& scales,
                         Stream stream) {
  if constexpr (library_has_dtypes<Types>) {
    using Operand = typename Types::operand;
    using Result = typename Types::result;
    const auto& library = library_in_use<ProductLibrary>();
    const bool has_residual = residual.data() != nullptr, gelu = epilogue.activate == Activate::gelu_tanh;
    if (!library.has_code || x.columns() == 0) return false;
    if (scales.any() && !std::is_same_v<Operand, fp8_e4m3>) return false;
    if (epilogue.activate != Activate::none && (!gelu || has_residual)) return false;
    if (!rows_begin_on_16_bytes(weight) || !rows_begin_on_16_bytes(out) ||
        (has_residual && !rows_begin_on_16_bytes(residual)))
      return false;
    const DeviceView<const f32>& wide_bias = epilogue.bias;
    if (LibraryOperands<Result, f32>::in_place && !rows_begin_on_16_bytes(wide_bias)) return false;
    if (LibraryOperands<Operand, X>::in_place && !rows_begin_on_16_bytes(x)) return false;
    LibraryProduct product{
        .operand = library_dtype<Operand>(),
        .result = library_dtype<Result>(),
        .rows = out.rows(),
        .features = out.columns(),
        .columns = x.columns(),
        .x_stride = LibraryOperands<Operand, X>::row_stride(x),
        .weight_stride = LibraryOperands<Operand, typename Types::storage>::row_stride(weight),
        .out = out.data(),
        .out_stride = out.row_stride(),
        .has_bias = epilogue.bias.elements() != 0,
        .has_residual = has_residual,
        .residual = residual.data(),
        .residual_stride = residual.row_stride(),
        .gelu_tanh = gelu,
        .scales = scales};
    if (!library.has_code(product)) return false;
    const LibraryOperands<Operand, X> rows(x, stream);
    const LibraryOperands<Operand, typename Types::storage> features(weight, stream);
    const LibraryOperands<Result, f32> bias(wide_bias, stream);
    product.x = rows.view().data();
    product.weight = features.view().data();
    product.bias = bias.view().data();
    library.multiply(product, stream);
    return true;
  } else {
    return false;
  }
}

}  // namespace precast::cuda
