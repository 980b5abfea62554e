// Skinny GEMM: products of a few rows of x (modulation, embedders). Memory-bound: each weight is read once.
// Products with a weight in blocks are in block_gemv.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>

namespace precast::gpu {

template <class Types, class X>
struct SkinnyGemm {
  MatrixRows<X> x;
  MatrixRows<typename Types::storage> weight;
  ProductEpilogue<typename Types::result, Types::saturate> store;
};

/// Each warp computes the features of its tile. A lane takes every 32nd vector of columns, in order, and
/// the lanes' sums are added in a fixed tree. columns * features weights are read from memory, which is the
/// minimum; rows are read from the cache once for each warp.
template <class Types, class X, int Rows>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(threads_per_warp* select_skinny_gemm_tile(Rows).warps, 1)
    skinny_gemm(PRECAST_GRID_CONSTANT const SkinnyGemm<Types, X> product) {
  constexpr SkinnyGemmTile tile = select_skinny_gemm_tile(Rows);
  using Operand = typename Types::operand;
  using Weights = MatrixRows<typename Types::storage>;
  using Stored = typename Weights::value_type;
  constexpr int width = widest_vector<Stored>;
  // A row's values for one vector of weights take as many loads as their dtype is wider.
  constexpr int x_width = width < widest_vector<X> ? width : widest_vector<X>;
  constexpr int features = tile.features_per_warp;
  const auto& [x, weight, store] = product;
  const int first_feature = (block_index().x * tile.warps + warp_index()) * features;

  typename MatrixRows<X>::Row x_rows[tile.rows];
  typename Weights::Row weight_rows[features];
  PRECAST_UNROLL
  for (int r = 0; r < tile.rows; ++r) x_rows[r] = x.row(r);
  PRECAST_UNROLL
  for (int f = 0; f < features; ++f) weight_rows[f] = weight.row(first_feature + f);

  f32 sums[features][tile.rows] = {};
  const int in_vectors = x.wide && weight.wide ? weight.columns / width * width : 0;
  constexpr int step = threads_per_warp * width * tile.loads_in_flight;
  static_assert(step <= columns_past_the_end, "skinny_gemm: the end of a step is counted in 32 bits.");
  for (int first = 0; first < in_vectors; first += step) {
    Run<Stored, width> weights[tile.loads_in_flight][features];
    PRECAST_UNROLL
    for (int load = 0; load < tile.loads_in_flight; ++load) {
      const int column = first + (load * threads_per_warp + lane_index()) * width;
      PRECAST_UNROLL
      for (int f = 0; f < features; ++f)
        weights[load][f] = column < in_vectors && weight_rows[f].there
                               ? load_run<width>(weight.data + (weight_rows[f].offset + column), width, true)
                               : Run<Stored, width>{};
    }
    PRECAST_UNROLL
    for (int load = 0; load < tile.loads_in_flight; ++load) {
      const int column = first + (load * threads_per_warp + lane_index()) * width;
      if (column >= in_vectors) break;
      PRECAST_UNROLL
      for (int part = 0; part < width; part += x_width) {
        f32 wide_weights[features][x_width];
        PRECAST_UNROLL
        for (int f = 0; f < features; ++f) {
          PRECAST_UNROLL
          for (int i = 0; i < x_width; ++i)
            wide_weights[f][i] = operand_in_f32<Operand, Types::saturate>(weights[load][f][part + i]);
        }
        PRECAST_UNROLL
        for (int r = 0; r < tile.rows; ++r) {
          if (!x_rows[r].there) break;
          const auto values = load_run<x_width>(x.data + (x_rows[r].offset + column + part), x_width, true);
          PRECAST_UNROLL
          for (int i = 0; i < x_width; ++i) {
            const f32 value = operand_in_f32<Operand, Types::saturate>(values[i]);
            PRECAST_UNROLL
            for (int f = 0; f < features; ++f)
              sums[f][r] = multiply_then_add(value, wide_weights[f][i], sums[f][r]);
          }
        }
      }
    }
  }
  // The rest of the rows, or all of them where they are not aligned to 16 bytes.
  const int first_left = planted<"columns added twice">(in_vectors, 0);
  for (int column = first_left + lane_index(); column < weight.columns; column += threads_per_warp) {
    PRECAST_UNROLL
    for (int f = 0; f < features; ++f) {
      const f32 weight_value = operand_in_f32<Operand, Types::saturate>(weight.value(weight_rows[f], column));
      PRECAST_UNROLL
      for (int r = 0; r < tile.rows; ++r)
        sums[f][r] = multiply_then_add(operand_in_f32<Operand, Types::saturate>(x.value(x_rows[r], column)),
                                       weight_value, sums[f][r]);
    }
  }

  store_sums_of_lanes(sums, first_feature, store);
}

/// Starts the product of at most `max_skinny_rows` rows.
template <class Types, class X>
void launch_skinny_gemm(const MatrixRows<X>& x, const MatrixRows<typename Types::storage>& weight,
                        const ProductEpilogue<typename Types::result, Types::saturate>& store,
                        Stream stream) {
  const auto start = [&]<int Rows>(std::integral_constant<int, Rows>) {
    constexpr SkinnyGemmTile tile = select_skinny_gemm_tile(Rows);
    constexpr int features_per_block = tile.warps * tile.features_per_warp;
    launch("skinny_gemm", skinny_gemm<Types, X, Rows>,
           LaunchShape{.blocks = {ceil_divide(store.features, features_per_block), 1, 1},
                       .threads = threads_per_warp * tile.warps},
           stream, SkinnyGemm<Types, X>{x, weight, store});
  };
  if (store.rows == 1)
    start(std::integral_constant<int, 1>{});
  else if (store.rows == 2)
    start(std::integral_constant<int, 2>{});
  else if (store.rows <= 4)
    start(std::integral_constant<int, 4>{});
  else
    start(std::integral_constant<int, max_skinny_rows>{});
}

}  // namespace precast::gpu
