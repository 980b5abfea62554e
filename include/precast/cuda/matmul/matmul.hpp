// x W^T + b on the device, and the choice between our kernels and the library.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/cuda/matmul/block_gemv.hpp>
#include <precast/cuda/matmul/multiply_by_blocks.hpp>
#include <precast/cuda/matmul/multiply_by_library.hpp>
#include <precast/cuda/matmul/multiply_in_parts.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/matmul/product_additions.hpp>
#include <precast/cuda/matmul/product_types.hpp>
#include <precast/cuda/matmul/rounded_product.hpp>
#include <precast/cuda/matmul/skinny_gemm.hpp>
#include <precast/cuda/matmul/tiled_product.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/problem/product_kernels.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// Selects the kernel and starts it. Additions: none, or ProductAdditions.
template <class Types, class X, class... Additions>
void multiply_transposed(const DeviceView<const X>& x, const PackedWeight<typename Types::storage>& weight,
                         const Epilogue& epilogue, const DeviceView<typename Types::result>& out,
                         Stream stream, const Additions&... additions) {
  if (out.elements() == 0) return;
  checked_columns(out.columns());
  const auto rows = matrix_rows(x);
  const auto features = stored_rows(weight.view());
  const auto store = product_epilogue<Types::saturate>(epilogue, out, additions...);
  using Kernels = ProductTypes<ExactTypes<Types, X>, typename decltype(store)::result>;
  if constexpr (!std::is_same_v<typename Types::accumulate, f32>) {
    launch_rounded_product<Kernels>(rows, features, store, stream);
  } else {
    if (out.rows() <= max_skinny_rows) {
      if constexpr (ScalarDtype<typename Types::storage>)
        return launch_skinny_gemm<Kernels>(rows, features, store, stream);
      else if constexpr (blocks_of_one_size<typename Types::storage>)  // other formats have no slabs
        return launch_block_gemv<Kernels>(rows, features, store, stream);
    }
    const ProductAdditions<typename Types::result> added{additions...};
    if (multiply_in_parts<Types>(x, weight, epilogue, added, out, stream)) return;
    if (multiply_by_library<Types>(x, weight, epilogue, added, out, stream)) return;
    launch_tiled_product<Kernels>("matmul", rows, features, store, stream);
  }
}

}  // namespace detail

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias). Operands are
/// rounded to Types::operand, products are summed in Types::accumulate, and results are rounded to
/// Types::result once. Values that an operand wider than theirs would only widen are multiplied as they are
/// (`ExactOperand`): stored in bf16 and computed in f32, tensor cores' bf16 makes the same products. Up to
/// `max_skinny_rows` rows are as fast as the weight is read; more are the library's where it has the dtypes
/// (`library_has_dtypes`; of a weight that is rounded first, from `least_rows_of_rounded_weight` on) and rows
/// do not lie over each other, else a tiled kernel's. Weights in blocks are decoded by our kernels as
/// they are read; those of a format that a file has chosen
/// (`PackedWeight::in_blocks`) by kernels that units of the program have registered. Shapes must fit; ops
/// check them.
template <class Types, class X>
void matmul_transposed(DeviceView<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  if constexpr (ScalarDtype<typename Types::storage>)
    if (const HeldBlocks* const blocks = weight.blocks()) {
      if (out.elements() != 0) multiply_by_blocks<Types>(x, *blocks, epilogue, out, stream);
      return;
    }
  detail::multiply_transposed<Types>(x, weight, epilogue, out, stream);
}
/// The same with a weight that is in device memory already.
template <class Types, class X>
void matmul_transposed(DeviceView<const X> x, DeviceStoredView<const typename Types::storage> weight,
                       const Epilogue& epilogue, DeviceView<typename Types::result> out, Stream stream) {
  matmul_transposed<Types>(x, PackedWeight<typename Types::storage>::template borrowed<Types>(weight),
                           epilogue, out, stream);
}
/// The same with additions: out = activate(scales * x weight^T + bias) + residual, rounded once. No op uses
/// this; it is for kernels of one's own.
template <class Types, class X>
void matmul_transposed_with(const ProductAdditions<typename Types::result>& additions, DeviceView<const X> x,
                            DeviceStoredView<const typename Types::storage> weight, const Epilogue& epilogue,
                            DeviceView<typename Types::result> out, Stream stream = current_stream()) {
  detail::multiply_transposed<Types>(x,
                                     PackedWeight<typename Types::storage>::template borrowed<Types>(weight),
                                     epilogue, out, stream, additions);
}

/// out [M, N] = a [M, K] b [K, N]: matmul_transposed with b transposed, at the cost of reading and writing
/// b once.
template <class Types, class A>
void matmul(DeviceView<const A> a, DeviceView<const typename Types::storage> b,
            DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const StreamScope scope(stream);  // for the memory of `right`
  const auto right = transposed_over(b, stream);
  matmul_transposed<Types>(a, right.view(), Epilogue{}, out, stream);
}

}  // namespace precast::gpu
