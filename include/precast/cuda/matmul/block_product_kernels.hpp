// The implementations of BlockProducts: block_gemv, which decodes as it reads; the tiled product, which
// decodes tiles of the weight on the way to shared memory; and the library's product of panels that are
// decoded ahead of it.
#pragma once

#include <array>
#include <cstdint>

#include <precast/cuda/matmul/any_result.hpp>
#include <precast/cuda/matmul/block_gemv.hpp>
#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/matmul/decoded_panels.hpp>
#include <precast/cuda/matmul/tiled_product.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/quant_formats.hpp>

namespace precast::gpu {

namespace detail {

/// By the library, in panels; false where it has no such product.
template <BlockDtype Format, ScalarDtype Operand>
bool multiply_panels(const BlockProductRequest& product, Stream stream) {
  const std::int64_t in_panel = features_in_panel<Operand>(product.features, product.columns);
  switch (product.result) {
    case LibraryDtype::bf16:
      return multiply_decoded_panels<Format, Operand, bf16>(product, in_panel, stream);
    case LibraryDtype::f16:
      return multiply_decoded_panels<Format, Operand, f16>(product, in_panel, stream);
    default:
      return multiply_decoded_panels<Format, Operand, f32>(product, in_panel, stream);
  }
}

}  // namespace detail

/// BlockProducts::Multiply of a format, for operands of one dtype.
template <BlockDtype Format, ScalarDtype Operand>
void multiply_blocks(const BlockProductRequest& product, Stream stream) {
  // On an H200, decoding panels of q8_0 and q4_k and multiplying by them took half the time of tiles for 16
  // rows, and a seventh for 4608 rows.
  if (product.rows > max_skinny_rows && detail::multiply_panels<Format, Operand>(product, stream)) return;
  using X = LibraryOperand<Operand>;
  using Types = OpDtypes<Format, Operand, f32, NoDtype, AnyResult>;
  const auto x = matrix_rows(DeviceView<const X>(static_cast<const X*>(product.x),
                                                 Shape{product.rows, product.columns}, product.x_stride));
  const auto weight = stored_rows(BlockViewIn<const Format, DeviceSpace>(
      reinterpret_cast<const Format*>(product.weight), Shape{product.features, product.columns}));
  const auto start = [&]<class T>(T*) {
    const DeviceView<T> out(static_cast<T*>(product.out), Shape{product.rows, product.features},
                            product.out_stride);
    return product_epilogue(product.epilogue, results_of_any(out), out);
  };
  const auto store = product.result == LibraryDtype::bf16  ? start(static_cast<bf16*>(nullptr))
                     : product.result == LibraryDtype::f16 ? start(static_cast<f16*>(nullptr))
                                                           : start(static_cast<f32*>(nullptr));
  if (product.rows <= max_skinny_rows)
    launch_block_gemv<Types>(x, weight, store, stream);
  else
    launch_tiled_product<Types>("block_matmul", x, weight, store, stream);
}

namespace detail {

template <ScalarDtype Operand, class Format>
constexpr BlockProducts products_of_format() {
  if constexpr (block_format_compiled(dtype_traits<Format>::name))
    return {library_dtype<Operand>(), dtype_traits<Format>::name, &multiply_blocks<Format, Operand>};
  else
    return {};  // a name that no format has
}

template <ScalarDtype Operand, class... Entries>
constexpr auto products_of_formats(BlockFormatList<Entries...>) {
  return std::array{products_of_format<Operand, typename Entries::format>()...};
}

}  // namespace detail

/// The products of those formats in a list (BlockFormats, or a part of it) that this build has.
template <ScalarDtype Operand, class Formats>
inline constexpr std::array block_products = detail::products_of_formats<Operand>(Formats{});

}  // namespace precast::gpu
