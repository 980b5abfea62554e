// Products with sums in a format narrower than f32: every addition rounds to it. Correct, but slow.
#pragma once

#include <cstdint>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/convert_value.hpp>

namespace precast::gpu {

template <class Types, class Source>
struct RoundedProduct {
  Source x;
  StoredRows<typename Types::storage> weight;
  ProductEpilogue<typename Types::result, Types::saturate> store;
};

inline constexpr int rounded_product_threads = 128;

/// A thread computes one result, column by column, as the host does.
template <class Types, class Source>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(rounded_product_threads, 1)
    rounded_product(PRECAST_GRID_CONSTANT const RoundedProduct<Types, Source> product) {
  using Operand = typename Types::operand;
  const auto& [x, weight, store] = product;
  const std::int64_t index = std::int64_t{block_index().x} * rounded_product_threads + thread_index();
  const std::int64_t row_index = index / store.features;  // past the last row: zeros, which are not stored
  const int feature = static_cast<int>(index - row_index * store.features);
  const auto row = x.row(row_index);
  const auto weights = weight.row(feature);
  f32 sum = 0;
  for (int column = 0; column < weight.columns; ++column) {
    const f32 product_value = operand_in_f32<Operand, Types::saturate>(x.value(row, column)) *
                              operand_in_f32<Operand, Types::saturate>(weight.value(weights, column));
    sum = planted<"accumulate ignored">(add_rounded<typename Types::accumulate>(sum, product_value),
                                        sum + product_value);
  }
  store.store(row_index, feature, sum);
}

template <class Types, class Source>
void launch_rounded_product(const Source& x, const StoredRows<typename Types::storage>& weight,
                            const ProductEpilogue<typename Types::result, Types::saturate>& store,
                            Stream stream) {
  const std::int64_t blocks = ceil_divide(store.rows * store.features, rounded_product_threads);
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw ShapeError("a product of " + std::to_string(store.rows) + " x " + std::to_string(store.features) +
                     " results is more than one launch computes");
  launch("rounded_product", rounded_product<Types, Source>,
         LaunchShape{.blocks = {grid_blocks(blocks), 1, 1}, .threads = rounded_product_threads}, stream,
         RoundedProduct<Types, Source>{x, weight, store});
}

}  // namespace precast::gpu
