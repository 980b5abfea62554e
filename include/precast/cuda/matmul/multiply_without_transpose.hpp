// Products a b and a^T b by the library, which reads both sides as they are stored, without a transpose.
#pragma once

#include <type_traits>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/multiply_by_library.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Whether the library multiplies operands that are stored transposed at the same rate as others. Tensor
/// cores take tf32 and fp8 only K-major (PTX ISA, wgmma: "major-ness").
template <class Types>
inline constexpr bool library_reads_transposed =
    library_has_dtypes<Types> && !std::is_same_v<typename Types::operand, tf32> &&
    !std::is_same_v<typename Types::operand, fp8_e4m3>;

/// The layout of the left side of a product.
enum class LeftSide : bool { by_rows, transposed };

/// out [M, N] = a b for b [K, N] and a [M, K], or a^T b for a [K, M]; or added to what `out` holds. Rounded
/// once. Starts the product and returns true, or returns false where the library does not take it.
template <class Types, class A, class B>
bool multiply_without_transpose(const DeviceView<const A>& a, LeftSide side, const DeviceView<const B>& b,
                                const GradientOptions& options, const DeviceView<typename Types::result>& out,
                                Stream stream) {
  if constexpr (library_reads_transposed<Types>) {
    using Operand = typename Types::operand;
    using Left = LibraryOperands<Operand, A>;
    using Right = LibraryOperands<Operand, B>;
    const auto& library = library_in_use<ProductLibrary>();
    if (b.rows() == 0) return false;
    ProductRequest product{.operand = library_dtype<Operand>(),
                           .result = library_dtype<typename Types::result>(),
                           .rows = out.rows(),
                           .features = out.columns(),
                           .columns = b.rows(),
                           .x = Left::described(a),
                           .weight = Right::described(b),
                           .x_transposed = side == LeftSide::transposed,
                           .weight_transposed = true,
                           .out = product_matrix(out),
                           .has_residual = options.accumulate};
    if (options.accumulate) product.residual = product_matrix(DeviceView<const typename Types::result>(out));
    if (!library.takes(product)) return false;
    const Left left(a, stream);
    const Right right(b, stream);
    product.x = left.matrix();
    product.weight = right.matrix();
    return start_product(library, product, stream);
  } else {
    return false;
  }
}

}  // namespace precast::gpu
