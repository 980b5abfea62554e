// x W^T + b on the device: which of our kernels, or the library, multiplies what.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/cuda/matmul/few_rows.hpp>
#include <precast/cuda/matmul/library_product.hpp>
#include <precast/cuda/matmul/product_library.hpp>
#include <precast/cuda/matmul/rounded_product.hpp>
#include <precast/cuda/matmul/tiled_product.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

namespace detail {

/// Whether the library multiplies these dtypes as the op table says. It sums in f32, rounds results once, to
/// nearest, and does not clamp. It takes a bias only in the result's dtype: one of the weight's storage must
/// be exact in it. Results in fp8 are ours, because the library clamps them.
template <class Types, class X>
inline constexpr bool library_has_dtypes = [] {
  using Operand = typename Types::operand;
  using Result = typename Types::result;
  using Lies = std::conditional_t<std::is_same_v<Operand, tf32>, f32, Operand>;
  constexpr bool result_fits = std::is_same_v<Result, f32> || std::is_same_v<Result, Operand> ||
                               (std::is_same_v<Operand, fp8_e4m3> && sizeof(Result) == 2);
  if constexpr (is_library_dtype<Operand> && is_library_dtype<Result>)
    return std::is_same_v<X, Lies> && std::is_same_v<typename Types::storage, Lies> &&
           std::is_same_v<typename Types::accumulate, f32> && !Types::saturate && result_fits &&
           sizeof(Result) > 1 && widens_exactly<Result, typename Types::storage>;
  return false;
}();

/// Asks the library. It has bias, gelu (tanh) and a residual in its own epilogue; whatever else follows a
/// product is done by our tiled kernel in the same pass, rather than by another kernel that reads and writes
/// all results again.
template <class Types, class X>
bool multiplied_by_library(const View<const X>& x, const View<const typename Types::storage>& weight,
                           const Epilogue& epilogue, const View<const typename Types::result>& residual,
                           const View<typename Types::result>& out, const OperandScales& scales,
                           Stream stream) {
  if constexpr (library_has_dtypes<Types, X>) {
    const bool has_residual = residual.data() != nullptr, gelu = epilogue.activate == Activate::gelu_tanh;
    if (!(epilogue.activate == Activate::none || (gelu && !has_residual)) || x.columns() == 0) return false;
    if (!has_wide_rows(x) || !has_wide_rows(weight) || !has_wide_rows(out) ||
        (has_residual && !has_wide_rows(residual)))
      return false;
    return product_library().takes({.operand = library_dtype<typename Types::operand>(),
                                    .result = library_dtype<typename Types::result>(),
                                    .rows = out.rows(),
                                    .features = out.columns(),
                                    .columns = x.columns(),
                                    .x = x.data(),
                                    .x_stride = x.row_stride(),
                                    .weight = weight.data(),
                                    .weight_stride = weight.row_stride(),
                                    .out = out.data(),
                                    .out_stride = out.row_stride(),
                                    .bias = epilogue.bias.empty() ? nullptr : epilogue.bias.data(),
                                    .residual = residual.data(),
                                    .residual_stride = residual.row_stride(),
                                    .gelu_tanh = gelu,
                                    .scales = scales},
                                   stream);
  } else {
    return false;
  }
}

}  // namespace detail

/// out = activate(x weight^T + bias) + residual, rounded once: `matmul_transposed` with what is added to its
/// result. A residual without data is none; it may be `out` itself.
template <class Types, class X>
void matmul_transposed_add(View<const X> x, View<const typename Types::storage> weight,
                           const Epilogue& epilogue, View<const typename Types::result> residual,
                           View<typename Types::result> out, Stream stream) {
  if (out.elements() == 0) return;
  checked_columns(out.columns());
  const auto rows = matrix_rows(x);
  const auto features = matrix_rows(weight);
  const auto store = sums_store<Types::saturate>(epilogue, residual, out);
  if constexpr (!std::is_same_v<typename Types::accumulate, f32>) {
    start_rounded_product<Types>(rows, features, store, stream);
  } else {
    if (out.rows() <= most_few_rows) return start_few_rows_product<Types>(rows, features, store, stream);
    if (detail::multiplied_by_library<Types>(x, weight, epilogue, residual, out, {}, stream)) return;
    start_tiled_product<Types>("matmul", rows, features, store, stream);
  }
}

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias). Operands are
/// rounded to Types::operand, products are summed in Types::accumulate, and results are rounded to
/// Types::result once. Up to `most_few_rows` rows are as fast as the weight is read; more are the library's
/// where it has the dtypes (see `library_has_dtypes`) and rows begin on multiples of 16 bytes, else a tiled
/// kernel's. Shapes must fit; ops check them.
template <class Types, class X>
void matmul_transposed(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                       View<typename Types::result> out, Stream stream) {
  matmul_transposed_add<Types, X>(x, weight, epilogue, {}, out, stream);
}

}  // namespace precast::cuda
