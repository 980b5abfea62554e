// x W^T + b on the host: oneDNN multiplies blocks of rows with panels of weights; each block is finished and rounded
// once while it is in the cache.
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
#include <precast/host/few_rows.hpp>
#include <precast/host/onednn.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/parallel.hpp>
#include <precast/host/rounded_sums.hpp>
#include <precast/host/vector_math.hpp>
#include <precast/ops/activate.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// What happens to a sum of products before it is stored: a bias in f32 (empty: none), then an activation.
struct Epilogue {
  std::span<const f32> bias;
  Activate activate = Activate::none;
};

namespace detail {

// Weights stay as files have them, row by row: oneDNN rearranges a panel as it multiplies it, which for 64 rows or
// more costs at most 5% against weights rearranged beforehand, and lets few rows, other dtypes and views share them.
inline constexpr std::int64_t panel_features = 64;
inline constexpr std::int64_t rounded_sums_features = 16;

struct TileScratch;
struct PanelScratch;
struct OneDnnScratch;

/// Rows of x that are multiplied at a time: as many as keep about 12 MiB of f32 operands near.
inline std::int64_t rows_per_block(std::int64_t rows, std::int64_t columns) {
  const std::int64_t most = std::clamp<std::int64_t>((3 << 20) / columns / 64 * 64, 256, 768);
  const std::int64_t blocks = (rows + most - 1) / most;
  return std::min(rows, ((rows + blocks - 1) / blocks + 15) / 16 * 16);
}

/// dst [rows, features] = src [rows, columns] weights [features, columns]^T.
template <OneDnnOperand T>
std::shared_ptr<const onednn::Primitive> product_of(std::int64_t rows, std::int64_t features, std::int64_t columns,
                                                    std::int64_t src_stride, std::int64_t weight_stride) {
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

/// Finishes a tile of f32 sums, [rows of out, columns of out], and stores it: the one rounding of the results.
template <class Types>
void store_tile(f32* tile, std::int64_t tile_stride, std::int64_t first_feature, const Epilogue& epilogue,
                View<typename Types::result> out) {
  const auto features = static_cast<std::size_t>(out.columns());
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const std::span<f32> sums(tile + r * tile_stride, features);
    const std::span<f32> computed = row_to_compute(out.row(r), sums.data());
    if (!epilogue.bias.empty()) {
      const f32* const bias = epilogue.bias.data() + first_feature;
      for (std::size_t f = 0; f < features; ++f) computed[f] = sums[f] + bias[f];
    } else {
      convert_row<f32>(std::span<const f32>(sums), computed);
    }
    activate_row(epilogue.activate, computed);
    store_row<Types::saturate>(std::span<const f32>(computed), out.row(r));
  }
}

template <class Types, OneDnnOperand Multiplied, class X>
void blocked_matmul(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                    View<typename Types::result> out) {
  using Operand = typename Types::operand;
  const Operands<Operand, Types::saturate, Multiplied, X> operands(x);
  const View<const Multiplied> src = operands.view();
  const std::int64_t rows = src.rows(), columns = src.columns(), features = weight.rows();
  const std::int64_t block = rows_per_block(rows, columns), panel = std::min(panel_features, features);
  const std::int64_t blocks = (rows + block - 1) / block, panels = (features + panel - 1) / panel;
  constexpr bool in_place = are_operands<Operand, Multiplied, typename Types::storage>;
  const std::int64_t weight_stride = in_place ? weight.row_stride() : columns;
  const std::int64_t last_block = rows - (blocks - 1) * block, last_panel = features - (panels - 1) * panel;
  std::shared_ptr<const onednn::Primitive> products[2][2];  // [last block][last panel]
  for (const bool at_end : {false, true})
    for (const bool at_side : {false, true})
      products[at_end][at_side] = product_of<Multiplied>(at_end ? last_block : block, at_side ? last_panel : panel,
                                                         columns, src.row_stride(), weight_stride);
  parallel_for(blocks * panels, [&](std::int64_t task) {
    const std::int64_t at_block = task / panels, at_panel = task % panels;
    const onednn::Primitive& product = *products[at_block == blocks - 1][at_panel == panels - 1];
    const std::int64_t first_feature = at_panel * panel, count = std::min(panel, features - first_feature);
    const auto part = out.rows_between(at_block * block, std::min(block, rows - at_block * block))
                          .columns_between(first_feature, count);
    const Multiplied* multiplied = nullptr;
    if constexpr (in_place) {
      multiplied = weight.row(first_feature).data();
    } else {
      const auto bytes = static_cast<std::size_t>(count * columns) * sizeof(Multiplied);
      auto* const widened = reinterpret_cast<Multiplied*>(thread_scratch<PanelScratch>(bytes));
      for (std::int64_t f = 0; f < count; ++f)
        operand_row<Operand, Types::saturate>(
            weight.row(first_feature + f),
            std::span<Multiplied>(widened + f * columns, static_cast<std::size_t>(columns)));
      multiplied = widened;
    }
    auto* const tile =
        reinterpret_cast<f32*>(thread_scratch<TileScratch>(static_cast<std::size_t>(part.elements()) * sizeof(f32)));
    product({{DNNL_ARG_SRC, &product.argument(DNNL_ARG_SRC), src.row(at_block * block).data()},
             {DNNL_ARG_WEIGHTS, &product.argument(DNNL_ARG_WEIGHTS), multiplied},
             {DNNL_ARG_DST, &product.argument(DNNL_ARG_DST), tile}},
            thread_scratch<OneDnnScratch>(product.scratch_bytes()));
    store_tile<Types>(tile, count, first_feature, epilogue, part);
  });
}

template <class Types, class X>
void few_rows_matmul(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                     View<typename Types::result> out) {
  const Operands<typename Types::operand, Types::saturate, f32, X> operands(x);
  const std::int64_t features = weight.rows();
  parallel_for((features + panel_features - 1) / panel_features, [&](std::int64_t task) {
    const std::int64_t first = task * panel_features, count = std::min(panel_features, features - first);
    f32 tile[most_few_rows * panel_features];
    few_rows_product<typename Types::operand, Types::saturate>(operands.view(), weight.rows_between(first, count),
                                                               tile, panel_features);
    store_tile<Types>(tile, panel_features, first, epilogue, out.columns_between(first, count));
  });
}

template <class Types, class X>
void rounded_sums_matmul(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                         View<typename Types::result> out) {
  using Operand = typename Types::operand;
  constexpr std::int64_t width = rounded_sums_features;
  const Operands<Operand, Types::saturate, f32, X> operands(x);
  const std::int64_t features = weight.rows(), columns = weight.columns();
  parallel_for((features + width - 1) / width, [&](std::int64_t task) {
    const std::int64_t first = task * width, count = std::min(width, features - first);
    const auto values = static_cast<std::size_t>(columns);
    auto* const transposed = reinterpret_cast<f32*>(thread_scratch<PanelScratch>((width + 1) * values * sizeof(f32)));
    f32* const row = transposed + width * columns;
    for (std::int64_t f = 0; f < width; ++f) {
      operand_row<Operand, Types::saturate>(weight.row(first + std::min(f, count - 1)), std::span<f32>(row, values));
      for (std::int64_t k = 0; k < columns; ++k) transposed[k * width + f] = row[k];
    }
    f32 sums[width];
    for (std::int64_t r = 0; r < out.rows(); ++r) {
      rounded_sums<typename Types::accumulate, width>(operands.view().row(r).data(), transposed, columns, sums);
      store_tile<Types>(sums, width, first, epilogue, out.rows_between(r, 1).columns_between(first, count));
    }
  });
}

}  // namespace detail

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias). Operands are rounded to
/// Types::operand, products are summed in Types::accumulate, and results are rounded to Types::result once. Shapes
/// must fit; ops check them.
template <class Types, class X>
void matmul_transposed(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                       View<typename Types::result> out) {
  if (out.elements() == 0) return;
  if constexpr (!std::is_same_v<typename Types::accumulate, f32>) {
    detail::rounded_sums_matmul<Types>(x, weight, epilogue, out);
  } else if (out.rows() <= most_few_rows) {
    detail::few_rows_matmul<Types>(x, weight, epilogue, out);
  } else {
    if constexpr (std::is_same_v<typename Types::operand, bf16>)
      if (multiplies_bf16()) return detail::blocked_matmul<Types, bf16>(x, weight, epilogue, out);
    detail::blocked_matmul<Types, f32>(x, weight, epilogue, out);
  }
}

}  // namespace precast::host
