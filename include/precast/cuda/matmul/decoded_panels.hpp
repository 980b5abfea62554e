// Products of many rows with a weight in blocks, by the library: panels of the weight are decoded to
// operands before they are multiplied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/multiply_by_library.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/dtype/decode_chunk.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::gpu {

/// The most bytes of a panel, so that it can still be in a device's L2 cache when it is
/// multiplied.
inline constexpr std::int64_t most_bytes_of_panel = std::int64_t{32} << 20;

/// How many features of `columns` values are decoded at a time: a multiple of 128, which are whole tiles of
/// products, or all of them.
template <ScalarDtype Operand>
std::int64_t features_in_panel(std::int64_t features, std::int64_t columns) {
  const auto bytes_of_feature =
      static_cast<std::int64_t>(sizeof(Operand)) * std::max<std::int64_t>(columns, 1);
  return std::min(features, std::max<std::int64_t>(most_bytes_of_panel / bytes_of_feature / 128, 1) * 128);
}

template <BlockDtype Format, ScalarDtype Operand>
struct DecodedPanel {
  BlockRows<Format> weight;
  std::int64_t first_feature, features;
  GlobalPointer<Operand> to;
  std::int64_t to_stride;  ///< a multiple of values_in_chunk<Format>: what follows a row's columns becomes 0
};

inline constexpr int decode_panel_threads = 256;

/// A thread takes a chunk of a feature's values at a time; a warp's lanes take adjacent chunks.
template <BlockDtype Format, ScalarDtype Operand>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(decode_panel_threads, 1)
    decode_panel_kernel(DecodedPanel<Format, Operand> panel) {
  constexpr int chunk = values_in_chunk<Format>;
  const std::int64_t chunks = panel.to_stride / chunk, count = panel.features * chunks,
                     step = std::int64_t{grid_size().x} * decode_panel_threads;
  for (std::int64_t i = std::int64_t{block_index().x} * decode_panel_threads + thread_index();
       i < planted<"chunk past the end">(count, count + 1); i += step) {
    const std::int64_t feature = i / chunks;
    const int column = static_cast<int>(i - feature * chunks) * chunk;
    const std::int64_t row =
        planted<"feature of the first panel">(panel.first_feature, std::int64_t{0}) + feature;
    f32 values[chunk];
    panel.weight.decode_chunk({row * panel.weight.row_stride, true}, column, values);
    Run<f32, chunk> run;
    PRECAST_UNROLL
    for (int v = 0; v < chunk; ++v) run[v] = values[v];
    store_rounded<false>(panel.to + (feature * panel.to_stride + column), run, chunk, true);
  }
}

namespace detail {

/// Whether a library may add the bias: it takes one only in the result's dtype, which must hold it exactly.
template <ScalarDtype Result>
bool bias_is_exact(const Epilogue& epilogue) {
  return epilogue.bias.elements() == 0 || std::is_same_v<Result, f32> ||
         epilogue.narrow_bias.template as<Result>();
}

/// The epilogue of `count` features from `first` on.
template <ScalarDtype Result>
Epilogue epilogue_of_features(const Epilogue& whole, std::int64_t first, std::int64_t count) {
  Epilogue part{.bias = {}, .activate = whole.activate};
  if (whole.bias.elements() == 0) return part;
  part.bias = whole.bias.columns_between(first, count);
  if (const Result* const narrow = whole.narrow_bias.template as<Result>())
    part.narrow_bias = NarrowBias(DeviceView<const Result>(narrow + first, Shape{count}));
  return part;
}

}  // namespace detail

/// Computes the product by the library, in panels of `in_panel` features: a multiple of 16, or all. Returns
/// false where the library has no such product: then `product.out` is undefined.
template <BlockDtype Format, ScalarDtype Operand, ScalarDtype Result>
bool multiply_decoded_panels(const BlockProductRequest& product, std::int64_t in_panel, Stream stream) {
  using Types = OpDtypes<Operand, Operand, f32, NoDtype, Result>;
  if constexpr (library_has_dtypes<Types>) {
    const ActivationFunction activate = product.epilogue.activate;
    if (activate != ActivationFunction::none && activate != ActivationFunction::gelu_tanh) return false;
    if (!library_in_use<ProductLibrary>().has_code || !detail::bias_is_exact<Result>(product.epilogue))
      return false;
    const DeviceView<const Operand> x(static_cast<const Operand*>(product.x),
                                      Shape{product.rows, product.columns}, product.x_stride);
    const DeviceView<Result> out(static_cast<Result*>(product.out), Shape{product.rows, product.features},
                                 product.out_stride);
    // Checked before anything is decoded.
    if (product.columns == 0 || !readable_by_library(x) || !readable_by_library(out)) return false;
    const auto weight = stored_rows(BlockViewIn<const Format, DeviceSpace>(
        reinterpret_cast<const Format*>(product.weight), Shape{product.features, product.columns}));
    const StreamScope scope(stream);  // of the memory
    Tensor<Operand, DeviceMemory> panel(Shape{in_panel, rounded_up(product.columns, 8)});
    for (std::int64_t first = 0; first < product.features; first += in_panel) {
      const std::int64_t count = std::min(in_panel, product.features - first);
      const auto rows = panel.view().rows_between(0, count);
      constexpr std::int64_t most_blocks = 4096;
      const std::int64_t blocks =
          ceil_divide(rows.elements() / values_in_chunk<Format>, decode_panel_threads);
      launch("decode_panel", decode_panel_kernel<Format, Operand>,
             LaunchShape{.blocks = {grid_blocks(std::min(blocks, most_blocks)), 1, 1},
                         .threads = decode_panel_threads},
             stream,
             DecodedPanel<Format, Operand>{weight, first, count, pointer_to(rows), rows.row_stride()});
      const auto features = PackedWeight<Operand>::template borrowed<Types>(
          DeviceView<const Operand>(rows.columns_between(0, product.columns)));
      if (!multiply_by_library<Types>(x, features,
                                      detail::epilogue_of_features<Result>(product.epilogue, first, count),
                                      {}, out.columns_between(first, count), stream))
        return false;
    }
    return true;
  } else {
    return false;
  }
}

}  // namespace precast::gpu
