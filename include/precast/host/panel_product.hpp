// Blocks of rows times panels of weights: the unit of work of matmul and convolution. A block is finished and
// rounded once while it is in the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/convert.hpp>
#include <precast/host/onednn.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/rounded_sums.hpp>
#include <precast/host/vector_math.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// What happens to a sum of products before it is stored: a bias in f32 (empty: none), then an activation.
struct Epilogue {
  std::span<const f32> bias;
  Activate activate = Activate::none;
};

namespace detail {

/// Features of the weight that are multiplied at a time. The weight stays as files have it, row by row:
/// oneDNN rearranges a panel as it multiplies it, which for hundreds of rows costs some percent against a
/// weight that was rearranged beforehand, and lets few rows, other dtypes and views share it.
constexpr std::int64_t features_per_panel(std::int64_t features, std::int64_t columns, bool in_place) {
  // A wide panel reads x less often, but is worth it only where it leaves enough tasks, and fits the cache
  // widened.
  const bool wide = features >= 1536 && (in_place || columns <= 4096);
  return std::min<std::int64_t>(features, wide ? 128 : 64);
}

/// Rows of x that are multiplied at a time. Measured: for few columns, rows and panel stay in the nearest
/// caches; for many, more rows rearrange the panel less often, until they leave the last cache. Fewer where
/// tasks are few.
constexpr std::int64_t rows_per_block(std::int64_t rows, std::int64_t columns, std::int64_t panels) {
  constexpr std::int64_t enough_tasks = 16, fewest = 128;
  const std::int64_t near =
      columns < 2048 ? 256 : std::clamp<std::int64_t>((3 << 20) / columns / 64 * 64, 256, 768);
  const std::int64_t shares = (enough_tasks + panels - 1) / panels;
  const std::int64_t most = std::min(near, std::max(fewest, (rows + shares - 1) / shares));
  const std::int64_t blocks = (rows + most - 1) / most;
  return std::min(rows, ((rows + blocks - 1) / blocks + 15) / 16 * 16);
}

struct TileScratch;
struct PanelScratch;
struct OneDnnScratch;

/// dst [rows, features] in f32 = src [rows, columns] weights [features, columns]^T.
template <OneDnnOperand T>
std::shared_ptr<const onednn::Primitive> product_of(std::int64_t rows, std::int64_t features,
                                                    std::int64_t columns, std::int64_t src_stride,
                                                    std::int64_t weight_stride) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  static onednn::Cache<Key, onednn::Primitive> cache(512);
  return cache.find_or_make({rows, features, columns, src_stride, weight_stride}, [&] {
    const std::string doing = "multiply " + std::to_string(rows) + " x " + std::to_string(columns) + " by " +
                              std::to_string(columns) + " x " + std::to_string(features);
    const auto src = onednn::strided(onednn::data_type<T>, {rows, columns}, {src_stride, 1});
    const auto weights = onednn::strided(onednn::data_type<T>, {columns, features}, {1, weight_stride});
    const auto dst = onednn::strided(dnnl_f32, {rows, features}, {features, 1});
    dnnl_matmul_desc_t operation;
    onednn::check(dnnl_matmul_desc_init(&operation, &src, &weights, nullptr, &dst), doing);
    return onednn::Primitive(&operation, doing);
  });
}

}  // namespace detail

/// Finishes a tile of f32 sums, one for each value of `out`, and stores it: the one rounding of the results.
/// `tile` is overwritten. The columns of `out` are features from `first_feature` on.
template <class Types>
void store_tile(f32* tile, std::int64_t tile_stride, std::int64_t first_feature, const Epilogue& epilogue,
                View<typename Types::result> out) {
  const auto features = static_cast<std::size_t>(out.columns());
  const f32* const bias = epilogue.bias.empty() ? nullptr : epilogue.bias.data() + first_feature;
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const std::span<f32> sums(tile + r * tile_stride, features);
    const std::span<f32> computed = row_to_compute(out.row(r), sums.data());
    if (bias)
      for (std::size_t f = 0; f < features; ++f) computed[f] = sums[f] + bias[f];
    else
      convert_row<f32>(std::span<const f32>(sums), computed);
    activate_row(epilogue.activate, computed);
    store_row<Types::saturate>(std::span<const f32>(computed), out.row(r));
  }
}

/// The products of blocks of rows with one weight [features, columns], panel by panel.
template <class Types, OneDnnOperand Multiplied>
class PanelProduct {
 public:
  using Storage = typename Types::storage;
  using Operand = typename Types::operand;
  using Accumulate = typename Types::accumulate;

  /// `rows` rows will come in blocks, which lie `src_stride` apart. `most_in_block` limits the blocks; 0: as
  /// suits the weight.
  PanelProduct(View<const Storage> weight, const Epilogue& epilogue, std::int64_t rows,
               std::int64_t src_stride, std::int64_t most_in_block = 0)
      : weight_(weight),
        epilogue_(epilogue),
        rows_(rows),
        src_stride_(src_stride),
        panel_(detail::features_per_panel(weight.rows(), weight.columns(), in_place)),
        block_(most_in_block ? std::min(most_in_block, rows)
                             : detail::rows_per_block(rows, weight.columns(), panels())) {
    if constexpr (in_onednn)
      for (const bool at_end : {false, true})
        for (const bool at_side : {false, true})
          products_[at_end][at_side] = detail::product_of<Multiplied>(
              at_end ? rows - (blocks() - 1) * block_ : block_,
              at_side ? weight.rows() - (panels() - 1) * panel_ : panel_, columns(), src_stride,
              in_place ? weight.row_stride() : columns());
  }

  std::int64_t columns() const { return weight_.columns(); }
  std::int64_t blocks() const { return (rows_ + block_ - 1) / block_; }
  std::int64_t panels() const { return (weight_.rows() + panel_ - 1) / panel_; }
  std::int64_t first_row(std::int64_t block) const { return block * block_; }
  std::int64_t rows_of(std::int64_t block) const { return std::min(block_, rows_ - block * block_); }

  /// Multiplies a block with a panel and stores the results where they belong in `out` [rows, features].
  /// `src` is the block's first row. Different (block, panel) may run at the same time.
  void run(std::int64_t block, std::int64_t panel, const Multiplied* src,
           View<typename Types::result> out) const {
    const std::int64_t first = panel * panel_, features = std::min(panel_, weight_.rows() - first);
    const std::int64_t rows = rows_of(block);
    const Multiplied* const weights = operands_of(first, features);
    auto* const tile = reinterpret_cast<f32*>(
        thread_scratch<detail::TileScratch>(static_cast<std::size_t>(rows * features) * sizeof(f32)));
    if constexpr (in_onednn) {
      const onednn::Primitive& product = *products_[block == blocks() - 1][panel == panels() - 1];
      product({{DNNL_ARG_SRC, &product.argument(DNNL_ARG_SRC), src},
               {DNNL_ARG_WEIGHTS, &product.argument(DNNL_ARG_WEIGHTS), weights},
               {DNNL_ARG_DST, &product.argument(DNNL_ARG_DST), tile}},
              thread_scratch<detail::OneDnnScratch>(product.scratch_bytes()));
    } else {
      for (std::int64_t r = 0; r < rows; ++r)
        rounded_sums<Accumulate>(src + r * src_stride_, weights, columns(), features, tile + r * features);
    }
    store_tile<Types>(tile, features, first, epilogue_,
                      out.rows_between(first_row(block), rows).columns_between(first, features));
  }

 private:
  static constexpr bool in_onednn = std::is_same_v<Accumulate, f32>;
  static constexpr bool in_place = are_operands<Operand, Multiplied, Storage> && in_onednn;

  /// Rows of the weight as operands: [features, columns], or [columns, features] for sums that are rounded.
  const Multiplied* operands_of(std::int64_t first, std::int64_t features) const {
    if constexpr (in_place) {
      return weight_.row(first).data();
    } else {
      const auto count = static_cast<std::size_t>(columns());
      const auto values = static_cast<std::size_t>(features + (in_onednn ? 0 : 1)) * count;
      auto* const operands =
          reinterpret_cast<Multiplied*>(thread_scratch<detail::PanelScratch>(values * sizeof(Multiplied)));
      for (std::int64_t f = 0; f < features; ++f) {
        const std::span<Multiplied> row(operands + (in_onednn ? f : features) * columns(), count);
        operand_row<Operand, Types::saturate>(weight_.row(first + f), row);
        if constexpr (!in_onednn)
          for (std::int64_t k = 0; k < columns(); ++k)
            operands[k * features + f] = row[static_cast<std::size_t>(k)];
      }
      return operands;
    }
  }

  View<const Storage> weight_;
  Epilogue epilogue_;
  std::int64_t rows_, src_stride_, panel_, block_;
  std::shared_ptr<const onednn::Primitive> products_[2][2];  // [the last block][the last panel]
};

}  // namespace precast::host
