// Blocks of rows times panels of weights: the unit of work of matmul and convolution. A block is finished and
// rounded once while it is in the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/block_weight.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/rounded_sums.hpp>
#include <precast/host/matmul/tiled_operands.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/onednn/onednn_code.hpp>
#include <precast/host/rows/activate_row.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/thread_scratch.hpp>
#include <precast/host/simd/tile_registers.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// Whether panels are multiplied in place or widened first.
enum class PanelUse : bool { in_place, widened };

/// The number of panels of a weight that are multiplied at a time: two where oneDNN can and, if they are
/// widened, they fit the cache.
inline std::int64_t panels_at_once(std::int64_t columns, PanelUse use) {
  return multiplies_panels_side_by_side() && (use == PanelUse::in_place || columns <= 4096) ? 2 : 1;
}

/// Rows of x that are multiplied at a time. Measured: from 192 on, as long as rows and panel stay in the
/// cache, their number does not matter where the weight is multiplied in place; where it is widened, more
/// rows widen it less often. oneDNN's GEMM, by which CPUs without AVX-512 multiply, loses a fifth of its
/// speed beyond 384 rows of 3072 columns. Fewer where tasks are few.
inline std::int64_t rows_per_block(std::int64_t rows, std::int64_t columns, std::int64_t panels,
                                   PanelUse use) {
  constexpr std::int64_t enough_tasks = 16, fewest = 128;
  const std::int64_t most_widened = multiplies_panels_side_by_side() ? 768 : 384;
  const std::int64_t near = use == PanelUse::in_place || columns < 2048
                                ? 256
                                : std::clamp<std::int64_t>((3 << 20) / columns / 64 * 64, 256, most_widened);
  const std::int64_t shares = ceil_divide(enough_tasks, panels);
  const std::int64_t most = std::min(near, std::max(fewest, ceil_divide(rows, shares)));
  const std::int64_t blocks = ceil_divide(rows, most);
  return std::min(rows, rounded_up(ceil_divide(rows, blocks), 16));
}

struct TileScratch;
struct PanelScratch;
struct OneDnnScratch;

/// oneDNN's name for panels of `width` features as PackedWeight has them.
template <OneDnnOperand T>
dnnl_format_tag_t panel_layout(std::int64_t width) {
  constexpr bool pairs = std::is_same_v<T, bf16>;
  switch (width) {
    case 16:
      return pairs ? dnnl_BA16a16b2a : dnnl_BA16a16b;
    case 32:
      return pairs ? dnnl_BA16a32b2a : dnnl_BA16a32b;
    case 48:
      return pairs ? dnnl_BA16a48b2a : dnnl_BA16a48b;
    default:
      return pairs ? dnnl_BA16a64b2a : dnnl_BA16a64b;
  }
}

/// dst [rows, features] in f32 = src [rows, columns] times panels of `width` features: as many as
/// panels_at_once() says at most.
template <OneDnnOperand T>
std::shared_ptr<const onednn::Primitive> product_of(std::int64_t rows, std::int64_t features,
                                                    std::int64_t columns, std::int64_t width) {
  using Key = std::array<std::int64_t, 4>;
  const onednn::MakingCode making;
  static auto* const cache = new onednn::Cache<Key, onednn::Primitive>(512);
  return cache->find_or_make(making, {rows, features, columns, width}, [&] {
    const std::string doing = "multiply " + std::to_string(rows) + " x " + std::to_string(columns) + " by " +
                              std::to_string(columns) + " x " + std::to_string(features);
    const auto src = onednn::strided(onednn::data_type<T>, {rows, columns}, {columns, 1});
    dnnl_memory_desc_t weights;
    if (multiplies_panels_side_by_side()) {
      weights = onednn::blocked(onednn::data_type<T>, {columns, features}, panel_layout<T>(width));
    } else {
      weights = onednn::strided(onednn::data_type<T>, {columns, features}, {width, 1});
      onednn::make_gemm_code(doing);
    }
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
                HostView<typename Types::result> out) {
  const auto features = static_cast<std::size_t>(out.columns());
  const f32* const bias = epilogue.bias.elements() == 0 ? nullptr : epilogue.bias.data() + first_feature;
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

/// The products of blocks of rows, which are contiguous or in tiles, with one weight,
/// some panels at a time.
template <class Types, OneDnnOperand Multiplied>
class PanelProduct {
 public:
  using Storage = typename Types::storage;
  using Operand = typename Types::operand;
  using Accumulate = typename Types::accumulate;

  /// `rows` rows will come in blocks. `most_in_block` limits the blocks; 0: as suits the weight.
  PanelProduct(const PackedWeight<Storage>& weight, const Epilogue& epilogue, std::int64_t rows,
               std::int64_t most_in_block = 0)
      : weight_(weight),
        epilogue_(epilogue),
        rows_(rows),
        in_tiles_(multiplies_in_tiles<Types>()),
        use_(may_be_in_place && weight.in_storage() && weight.columns_at_once() == pairs
                 ? detail::PanelUse::in_place
                 : detail::PanelUse::widened),
        at_once_(in_onednn ? detail::panels_at_once(weight.columns(), use_) : 1),
        block_(most_in_block ? std::min(most_in_block, rows)
                             : detail::rows_per_block(rows, weight.columns(), panels(), use_)) {
    // oneDNN reaches half the speed of tile registers with this layout of rows and panels.
    if (in_tiles_) return;
    if constexpr (in_onednn)
      for (const bool at_end : {false, true})
        for (const bool at_side : {false, true})
          products_[at_end][at_side] = detail::product_of<Multiplied>(
              at_end ? rows_of(blocks() - 1) : block_, at_side ? features_of(panels() - 1) : features_of(0),
              weight.columns(), weight.panel_width());
    if (DryRun::active()) count_scratch();
  }

  std::int64_t blocks() const { return ceil_divide(rows_, block_); }
  /// Groups of panels that are multiplied together.
  std::int64_t panels() const { return ceil_divide(weight_.panels(), at_once_); }
  std::int64_t first_row(std::int64_t block) const { return block * block_; }
  std::int64_t rows_of(std::int64_t block) const { return std::min(block_, rows_ - block * block_); }

  /// Multiplies a block with a group of panels and stores the results where they belong in `out` [rows,
  /// features]. `src` is the block's first row; where multiplies_in_tiles(), of rows in tiles. Different
  /// (block, panel) may run at the same time.
  void run(std::int64_t block, std::int64_t panel, const Multiplied* src,
           HostView<typename Types::result> out) const {
    const std::int64_t rows = rows_of(block), features = features_of(panel);
    const Multiplied* const weights = operands_of(panel);
    const std::int64_t stride = !in_onednn  ? weight_.panel_width()
                                : in_tiles_ ? rounded_up(features, tile_side)
                                            : features;
    auto* const tile = reinterpret_cast<f32*>(
        thread_scratch<detail::TileScratch>(static_cast<std::size_t>(rows * stride) * sizeof(f32)));
    if (in_tiles_) {
      multiply_in_tile_registers(rows, stride, src, weights, tile);
    } else if constexpr (in_onednn) {
      const onednn::Primitive& product = *products_[block == blocks() - 1][panel == panels() - 1];
      product({{DNNL_ARG_SRC, &product.argument(DNNL_ARG_SRC), src},
               {DNNL_ARG_WEIGHTS, &product.argument(DNNL_ARG_WEIGHTS), weights},
               {DNNL_ARG_DST, &product.argument(DNNL_ARG_DST), tile}},
              thread_scratch<detail::OneDnnScratch>(product.scratch_bytes()));
    } else {
      for (std::int64_t r = 0; r < rows; ++r)
        rounded_sums<Accumulate>(src + r * weight_.columns(), weights, weight_.columns(), stride,
                                 tile + r * stride);
    }
    const std::int64_t first = first_feature(panel);
    store_tile<Types>(tile, stride, first, epilogue_,
                      out.rows_between(first_row(block), rows).columns_between(first, features));
  }

 private:
  static constexpr bool in_onednn = std::is_same_v<Accumulate, f32>;
  static constexpr bool may_be_in_place = are_operands<Operand, Multiplied, Storage>;
  static constexpr std::int64_t pairs = std::is_same_v<Multiplied, bf16> ? 2 : 1;

  /// Counts the scratch memory of `run` and `operands_of`, in a dry run.
  void count_scratch() const {
    const std::int64_t tasks = blocks() * panels(), columns = rounded_up(weight_.columns(), 16 * pairs);
    const std::int64_t features = rounded_up(features_of(0), tile_side);
    scratch_memory<detail::TileScratch>(tasks, block_ * features * std::int64_t{sizeof(f32)});
    if (use_ == detail::PanelUse::widened)
      scratch_memory<detail::PanelScratch>(
          tasks, at_once_ * columns * weight_.panel_width() * std::int64_t{sizeof(Multiplied)});
    if (products_[0][0])
      scratch_memory<detail::OneDnnScratch>(tasks,
                                            static_cast<std::int64_t>(products_[0][0]->scratch_bytes()));
  }

  /// `features` with the zeros after them.
  void multiply_in_tile_registers(std::int64_t rows, std::int64_t features, const Multiplied* src,
                                  const Multiplied* weights, f32* tile) const {
    if constexpr (in_onednn && fits_tile_registers<Multiplied>) {
      // The operands of one product stay in the L2 cache: 256 rows of these columns are 0.75 MiB.
      constexpr std::int64_t columns_at_once = 1536;
      const std::int64_t depth = rounded_up(weight_.columns(), tile_depth), width = weight_.panel_width();
      const TileLayout layout = TileLayout::tiles(depth);
      for (std::int64_t k = 0; k < depth; k += columns_at_once)
        for (std::int64_t f = 0; f < features; f += widest_panel)
          host::multiply_in_tile_registers(src + k / tile_depth * layout.step, layout,
                                           weights + f * depth + k * width, 2 * width,
                                           std::min(columns_at_once, depth - k), tile + f, features, k > 0,
                                           rows, std::min(widest_panel, features - f));
    }
  }

  std::int64_t first_feature(std::int64_t panel) const { return panel * at_once_ * widest_panel; }
  std::int64_t features_of(std::int64_t panel) const {
    return std::min(at_once_ * widest_panel, weight_.features() - first_feature(panel));
  }

  /// A group of panels as operands.
  const Multiplied* operands_of(std::int64_t group) const {
    const std::int64_t first = group * at_once_, end = std::min(weight_.panels(), first + at_once_);
    if constexpr (may_be_in_place)
      if (use_ == detail::PanelUse::in_place) return weight_.panel(first);
    const std::int64_t columns = rounded_up(weight_.columns(), 16 * pairs);
    const std::int64_t values = columns * weight_.panel_width();
    auto* const operands = reinterpret_cast<Multiplied*>(thread_scratch<detail::PanelScratch>(
        static_cast<std::size_t>((end - first) * values) * sizeof(Multiplied)));
    for (std::int64_t panel = first; panel < end; ++panel)
      if (BlockDtype<Storage> || weight_.decoder())
        decoded_columns<Operand, Types::saturate>(weight_, panel, 0, columns,
                                                  operands + (panel - first) * values);
      else if constexpr (BlockDtype<Storage>)
        continue;
      else if constexpr (pairs == 2)
        operand_pairs<Operand, Types::saturate>(weight_, panel, columns, operands + (panel - first) * values);
      else
        operand_columns<Operand, Types::saturate>(weight_, panel, 0, columns,
                                                  operands + (panel - first) * values);
    return operands;
  }

  const PackedWeight<Storage>& weight_;
  Epilogue epilogue_;
  std::int64_t rows_;
  bool in_tiles_;
  detail::PanelUse use_;
  std::int64_t at_once_, block_;
  std::shared_ptr<const onednn::Primitive> products_[2][2];  // [the last block][the last panel]
};

}  // namespace precast::host
