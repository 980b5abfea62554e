// The tiled product: rows of a source (a matrix, or implicit im2col) times the features of a weight,
// with the epilogue in the same pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/matmul/warp_product.hpp>
#include <precast/cuda/matmul/warpgroup_product.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/cuda/tile/selector.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/tile_loader.hpp>

namespace precast::gpu {

template <class Types, class Source>
struct TiledProduct {
  Source x;
  StoredRows<typename Types::storage> weight;
  ProductEpilogue<typename Types::result, Types::saturate> store;
  int row_tiles, feature_tiles;
};

/// The tile that a block computes. Blocks take eight tiles of rows before the next features, so that blocks
/// that run at the same time share their reads in the L2 cache.
struct TilePlace {
  int row_tile, feature_tile;
};
PRECAST_DEVICE TilePlace tile_place(int block, int tiles_of_rows, int feature_tiles) {
  constexpr int group_rows = 8;
  const int group = block / (group_rows * feature_tiles), first = group * group_rows;
  const int rows = tiles_of_rows - first < group_rows ? tiles_of_rows - first : group_rows;
  const int within = block - group * group_rows * feature_tiles;
  const int group_size = planted<"tiles in a group">(rows, group_rows);
  return {first + within % group_size, within / group_size};
}

/// The blocks per multiprocessor that registers must allow: three for small tiles by FMA, for which nvcc
/// would otherwise use a few registers too many.
template <class Types>
PRECAST_HOST_DEVICE_CONSTEXPR int blocks_at_once(MatmulTile tile) {
  return std::is_same_v<MultipliedDtype<typename Types::operand>, f32> && tile.threads() <= 128 ? 3 : 1;
}

/// A block computes a tile of rows x features sums. While one stage is multiplied, the following ones
/// arrive; each is read from memory once by each block, and swizzled to be free of bank conflicts.
template <class Types, class Source, class Selector>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(Selector::tile(compiled_architecture).threads(),
                                          blocks_at_once<Types>(Selector::tile(compiled_architecture)))
    tiled_product(const TiledProduct<Types, Source> product) {
  constexpr MatmulTile tile = Selector::tile(compiled_architecture);
  using Operand = typename Types::operand;
  using Held = HeldDtype<Operand>;
  using Multiplied = MultipliedDtype<Operand>;
  constexpr bool by_warpgroups = tile.warpgroups && multiplies_by_warpgroups<Multiplied>;
  // Lanes that multiply by FMA read features eight apart.
  constexpr bool by_fma = std::is_same_v<Multiplied, f32>;
  constexpr int columns_per_stage = MatmulTile::bytes_per_row / static_cast<int>(sizeof(Held));
  using Rows = SharedTile<Held, tile.rows, columns_per_stage, by_fma>;
  using Features = SharedTile<Held, tile.features, columns_per_stage, by_fma>;
  using RowLoader = BandLoader<Operand, Types::saturate, Rows, tile.threads(), Source>;
  using FeatureLoader =
      BandLoader<Operand, Types::saturate, Features, tile.threads(), StoredRows<typename Types::storage>>;
  constexpr bool copies = RowLoader::in_place || FeatureLoader::in_place;
  constexpr int stage_values = Rows::size + Features::size;

  const auto [row_tile, feature_tile] = tile_place(block_index().x, product.row_tiles, product.feature_tiles);
  const std::int64_t first_row = std::int64_t{row_tile} * tile.rows;
  const int first_feature = feature_tile * tile.features;
  const auto stages =
      dynamic_shared<Held>(by_warpgroups ? padding_to<1024>() : 0, tile.stages * stage_values);
  const auto rows_of = [&](int k_tile) { return Rows{stages + k_tile % tile.stages * stage_values}; };
  const auto features_of = [&](int k_tile) { return Features{rows_of(k_tile).data + Rows::size}; };

  RowLoader row_loader(product.x, first_row);
  FeatureLoader feature_loader(product.weight, first_feature);
  const auto start = [&](int k_tile) {
    row_loader.start(rows_of(k_tile), k_tile * columns_per_stage);
    feature_loader.start(features_of(k_tile), k_tile * columns_per_stage);
  };
  const auto convert_and_store = [&](int k_tile) {
    row_loader.convert_and_store(rows_of(k_tile));
    feature_loader.convert_and_store(features_of(k_tile));
  };

  const int k_tiles = ceil_divide(product.weight.columns, columns_per_stage);
  // Warpgroups still read one stage when they start on the next.
  constexpr int ahead = tile.stages - (by_warpgroups ? 2 : 1);
  PRECAST_KEEP_LOOP
  for (int k_tile = 0; k_tile < ahead; ++k_tile) {
    if (k_tile < k_tiles) {
      start(k_tile);
      convert_and_store(k_tile);
    }
    if constexpr (copies) cp_async_commit();
  }

  using Sums = std::conditional_t<by_warpgroups, WarpgroupProduct<Multiplied, tile.features>,
                                  WarpProduct<Multiplied, tile.rows_per_warp>>;
  Sums sums;
  constexpr int rows_of_warp = by_warpgroups ? warpgroup_rows / warps_per_warpgroup : tile.rows_per_warp;
  const int warp_row = (by_warpgroups ? warp_index() : warp_index() % tile.warps_along_rows()) * rows_of_warp;
  const int warp_feature =
      by_warpgroups ? 0 : warp_index() / tile.warps_along_rows() * tile.features_per_warp;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    if constexpr (copies) cp_async_wait<ahead - 1>();
    if constexpr (by_warpgroups) fence_async_proxy();
    // The stage of k_tile has arrived for all threads, and none still reads the one that is filled next.
    sync_block();
    const int next = k_tile + planted<"stage in use">(ahead, ahead + 1);
    if constexpr (by_warpgroups)
      sums.start(rows_of(k_tile), warp_row / warpgroup_rows * warpgroup_rows, features_of(k_tile));
    if (next < k_tiles) start(next);
    if constexpr (copies) cp_async_commit();
    if constexpr (!by_warpgroups) sums.add(rows_of(k_tile), warp_row, features_of(k_tile), warp_feature);
    if (next < k_tiles) convert_and_store(next);
    if constexpr (by_warpgroups) sums.finish_stage_before();
  }
  if constexpr (by_warpgroups) sums.finish();

  const auto store = [&](auto& of_warp, int feature) {
    f32 biases[8];
    PRECAST_UNROLL
    for (int i = 0; i < 8; ++i) biases[i] = product.store.bias_of(feature + i);
    // One row at a time: the code that finishes a sum is large, and unrolling would repeat it for each row.
    PRECAST_KEEP_LOOP
    for (int i = 0; i < of_warp.rows_per_lane; ++i)
      product.store.store(first_row + warp_row + lane_index() / 4 + 8 * i, feature, of_warp.take_row(),
                          biases);
  };
  const int feature = first_feature + warp_feature + lane_index() % 4 * 8;
  if constexpr (by_warpgroups) {
    PRECAST_KEEP_LOOP
    for (int group = 0; group < sums.groups; ++group) {
      auto of_warp = sums.take_features();
      store(of_warp, feature + group * tile.features_per_warp);
    }
  } else {
    store(sums, feature);
  }
}

/// Starts the tiled product of a source's rows with the tile of a selector. The operands are those of Types,
/// whose sums are f32.
template <class Types, class Selector, class Source>
void launch_with_tile(const char* name, const Source& x, const StoredRows<typename Types::storage>& weight,
                      const ProductEpilogue<typename Types::result, Types::saturate>& store, Stream stream) {
  const auto kernel = &tiled_product<Types, Source, Selector>;
  const MatmulTile tile = tile_in_code<Selector>(kernel);
  const std::int64_t tiles_of_rows = ceil_divide(store.rows, tile.rows);
  const std::int64_t feature_tiles = ceil_divide(store.features, tile.features);
  if (tiles_of_rows * feature_tiles > std::numeric_limits<std::int32_t>::max())
    throw ShapeError(std::string(name) + ": " + std::to_string(store.rows) + " x " +
                     std::to_string(store.features) + " results are more than one launch computes");
  launch(name, kernel,
         LaunchShape{.blocks = {grid_blocks(tiles_of_rows * feature_tiles), 1, 1},
                     .threads = tile.threads(),
                     .shared_bytes = static_cast<std::size_t>(tile.shared_bytes())},
         stream,
         TiledProduct<Types, Source>{x, weight, store, static_cast<int>(tiles_of_rows),
                                     static_cast<int>(feature_tiles)});
}

/// The same with the tile that suits the sizes and the device.
template <class Types, class Source>
void launch_tiled_product(const char* name, const Source& x,
                          const StoredRows<typename Types::storage>& weight,
                          const ProductEpilogue<typename Types::result, Types::saturate>& store,
                          Stream stream, Architecture architecture = current_architecture()) {
  using Small = MatmulSelector<MatmulTileSize::small>;
  using Large = MatmulSelector<MatmulTileSize::large>;
  visit_selectors<Small, Large>(architecture, [&](auto small, auto large) {
    const MatmulTile of_large = tile_in_code<decltype(large)>(&tiled_product<Types, Source, decltype(large)>);
    if (suits_large_tiles(store.rows, store.features, of_large))
      launch_with_tile<Types, decltype(large)>(name, x, weight, store, stream);
    else
      launch_with_tile<Types, decltype(small)>(name, x, weight, store, stream);
  });
}

}  // namespace precast::gpu
