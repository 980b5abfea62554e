// Convolution of large images: oneDNN's own, on bands of rows. Where it needs another layout of the weight
// than the packed one, each call rearranges it: an image uses each weight once, so that a call does it
// once, and only one copy is kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/panel_product.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/onednn/onednn_code.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/runtime/thread_scratch.hpp>
#include <precast/memory/memory.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host::detail {

struct PatchScratch;

/// The rows of an image that a band of output rows reads, and the zeros above and below them.
struct BandRows {
  std::int64_t out_rows, first_in, in_rows, pad_top, pad_bottom;
};

inline BandRows band_rows(const ConvSizes& sizes, std::int64_t first_out, std::int64_t out_rows) {
  const std::int64_t first = first_out * sizes.stride - sizes.pad_top;
  const std::int64_t end = first + (out_rows - 1) * sizes.stride + sizes.kernel_height;
  const std::int64_t inside = std::max<std::int64_t>(first, 0);
  return {out_rows, inside, std::min(end, sizes.height) - inside, inside - first,
          std::max<std::int64_t>(0, end - sizes.height)};
}

/// The zeros that the last output column reads right of the image.
inline std::int64_t pad_right(const ConvSizes& sizes) {
  return std::max<std::int64_t>(
      0, (sizes.out_width - 1) * sizes.stride + sizes.kernel_width - sizes.width - sizes.pad_left);
}

/// The convolution of one band, into f32. `weights` may leave the layout to oneDNN.
template <OneDnnOperand T>
onednn::Primitive band_conv(const ConvSizes& sizes, std::int64_t features, const BandRows& rows,
                            const dnnl_memory_desc_t& weights) {
  const std::int64_t channels = sizes.channels, width = sizes.width, out_width = sizes.out_width;
  const std::string doing = "convolve " + std::to_string(width) + " pixels of " + std::to_string(channels) +
                            " channels to " + std::to_string(features);
  const auto src = onednn::strided(onednn::data_type<T>, {1, channels, rows.in_rows, width},
                                   {rows.in_rows * width * channels, 1, width * channels, channels});
  const auto dst = onednn::strided(dnnl_f32, {1, features, rows.out_rows, out_width},
                                   {rows.out_rows * out_width * features, 1, out_width * features, features});
  const std::int64_t strides[2] = {sizes.stride, sizes.stride};
  const std::int64_t before[2] = {rows.pad_top, sizes.pad_left},
                     after[2] = {rows.pad_bottom, pad_right(sizes)};
  dnnl_convolution_desc_t operation;
  onednn::check(
      dnnl_convolution_forward_desc_init(&operation, dnnl_forward_inference, dnnl_convolution_direct, &src,
                                         &weights, nullptr, &dst, strides, before, after),
      doing);
  return onednn::Primitive(&operation, doing);
}

/// Everything that oneDNN compiled for one convolution: the middle band, whose layout of the weight all
/// others take, and the bands that differ from it.
template <OneDnnOperand T>
class BandConv {
 public:
  BandConv(const ConvSizes& sizes, std::int64_t features, std::int64_t rows_per_band)
      : sizes_(sizes),
        rows_per_band_(rows_per_band),
        middle_(band_conv<T>(
            sizes, features,
            {rows_per_band, 0, (rows_per_band - 1) * sizes.stride + sizes.kernel_height, 0, 0},
            onednn::any_layout(onednn::data_type<T>,
                               {features, sizes.channels, sizes.kernel_height, sizes.kernel_width}))) {
    for (std::int64_t band = 0; band < bands(); ++band) {
      const BandRows rows = rows_of(band);
      const bool known =
          std::ranges::any_of(others_, [&](const auto& other) { return same(other.first, rows); });
      if (known || is_middle(rows)) continue;
      others_.emplace_back(rows, band_conv<T>(sizes, features, rows, weight_layout()));
    }
    fast_ = !middle_.is_plain_loop() &&
            std::ranges::none_of(others_, [](const auto& other) { return other.second.is_plain_loop(); });
  }

  /// Whether oneDNN has an optimised kernel for it.
  bool fast() const { return fast_; }
  std::int64_t rows_per_band() const { return rows_per_band_; }
  std::int64_t bands() const { return ceil_divide(sizes_.out_height, rows_per_band_); }
  BandRows rows_of(std::int64_t band) const {
    const std::int64_t first = band * rows_per_band_;
    return band_rows(sizes_, first, std::min(rows_per_band_, sizes_.out_height - first));
  }
  const onednn::Primitive& primitive(const BandRows& rows) const {
    for (const auto& [other, primitive] : others_)
      if (same(other, rows)) return primitive;
    return middle_;
  }
  /// The most scratch bytes that oneDNN needs for a band.
  std::int64_t scratch_bytes() const {
    std::size_t most = middle_.scratch_bytes();
    for (const auto& other : others_) most = std::max(most, other.second.scratch_bytes());
    return static_cast<std::int64_t>(most);
  }
  const dnnl_memory_desc_t& weight_layout() const { return middle_.argument(DNNL_ARG_WEIGHTS); }

 private:
  static bool same(const BandRows& a, const BandRows& b) {
    return a.out_rows == b.out_rows && a.in_rows == b.in_rows && a.pad_top == b.pad_top &&
           a.pad_bottom == b.pad_bottom;
  }
  bool is_middle(const BandRows& rows) const {
    return rows.out_rows == rows_per_band_ && rows.pad_top == 0 && rows.pad_bottom == 0;
  }

  ConvSizes sizes_;
  std::int64_t rows_per_band_;
  onednn::Primitive middle_;
  std::vector<std::pair<BandRows, onednn::Primitive>> others_;
  bool fast_ = false;
};

template <OneDnnOperand T>
std::shared_ptr<const BandConv<T>> band_conv_for(const ConvSizes& sizes, std::int64_t features,
                                                 std::int64_t rows_per_band) {
  using Key = std::array<std::int64_t, 12>;
  const onednn::MakingCode making;
  static auto* const cache = new onednn::Cache<Key, BandConv<T>>(128);
  return cache->find_or_make(
      making,
      {sizes.height, sizes.width, sizes.channels, sizes.kernel_height, sizes.kernel_width, sizes.stride,
       sizes.pad_top, sizes.pad_left, sizes.out_height, sizes.out_width, features, rows_per_band},
      [&] { return BandConv<T>(sizes, features, rows_per_band); });
}

/// A packed weight of columns [kernel_height, kernel_width, channels], where it lies in this layout already
/// and holds operands; else null.
template <class Types, OneDnnOperand T>
const void* weight_in_place(const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
                            const dnnl_memory_desc_t& layout) {
  constexpr std::int64_t pairs = std::is_same_v<T, bf16> ? 2 : 1;
  if constexpr (are_operands<typename Types::operand, T, typename Types::storage>) {
    if (!weight.in_storage() || weight.columns_at_once() != pairs || weight.features() % widest_panel != 0 ||
        weight.columns() != weight.padded_columns() || sizes.channels % pairs != 0)
      return nullptr;
    const auto& blocks = layout.format_desc.blocking;
    const bool same_blocks = blocks.inner_nblks == pairs && blocks.inner_blks[0] == widest_panel &&
                             blocks.inner_idxs[0] == 0 &&
                             (pairs == 1 || (blocks.inner_blks[1] == pairs && blocks.inner_idxs[1] == 1));
    const std::int64_t of_column = widest_panel * sizes.channels;
    const bool same = layout.format_kind == dnnl_blocked && layout.offset0 == 0 && same_blocks &&
                      blocks.strides[0] == weight.panel_values() &&
                      blocks.strides[1] == widest_panel * pairs &&
                      blocks.strides[2] == of_column * sizes.kernel_width && blocks.strides[3] == of_column;
    return same ? weight.panel(0) : nullptr;
  }
  return nullptr;
}

/// How many neighbouring features a weight's layout keeps together.
inline std::int64_t features_per_block(const dnnl_memory_desc_t& layout) {
  const auto& blocks = layout.format_desc.blocking;
  std::int64_t features = 1;
  for (int i = 0; i < blocks.inner_nblks; ++i)
    if (blocks.inner_idxs[i] == 0) features *= blocks.inner_blks[i];
  return features;
}

/// A packed weight of columns [kernel_height, kernel_width, channels] in another layout.
template <class Types, OneDnnOperand T>
Buffer rearranged_weight(const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
                         const dnnl_memory_desc_t& layout) {
  const std::int64_t features = weight.features();
  Buffer buffer(dnnl_memory_desc_get_size(&layout));
  // As few panels are rearranged at a time as the layout keeps apart: it may have blocks of 48 features.
  const std::int64_t least = std::lcm(widest_panel, features_per_block(layout));
  const std::int64_t group = features % least == 0 ? least : features;
  const auto layout_of = [&](std::int64_t first) {
    dnnl_memory_desc_t part;
    const std::int64_t dims[4] = {group, sizes.channels, sizes.kernel_height, sizes.kernel_width};
    const std::int64_t offsets[4] = {first, 0, 0, 0};
    onednn::check(dnnl_memory_desc_init_submemory(&part, &layout, dims, offsets), "split a weight");
    return part;
  };
  const dnnl_memory_desc_t first_layout = layout_of(0);
  // A group as [columns, panels of the group, width].
  const std::int64_t panels = ceil_divide(group, widest_panel), width = weight.panel_width();
  const std::int64_t row = panels * width;
  const auto from =
      onednn::strided(onednn::data_type<T>, {group, sizes.channels, sizes.kernel_height, sizes.kernel_width},
                      {1, row, sizes.kernel_width * sizes.channels * row, sizes.channels * row});
  const auto reorder = onednn::Primitive::reorder(from, first_layout);
  scratch_memory<PanelScratch>(features / group, weight.padded_columns() * row * std::int64_t{sizeof(T)});
  scratch_memory<OneDnnScratch>(features / group, static_cast<std::int64_t>(reorder.scratch_bytes()));
  parallel_for(features / group, [&](std::int64_t task) {
    auto* const operands = reinterpret_cast<T*>(
        thread_scratch<PanelScratch>(static_cast<std::size_t>(weight.padded_columns() * row) * sizeof(T)));
    const auto convert = [&](std::int64_t panel, std::int64_t first, std::int64_t count, T* to) {
      operand_columns<typename Types::operand, Types::saturate>(weight, task * panels + panel, first, count,
                                                                to);
    };
    if (panels == 1) {
      convert(0, 0, weight.padded_columns(), operands);
    } else {
      std::array<T, 2 * widest_panel> few;  // columns may be packed in pairs
      for (std::int64_t panel = 0; panel < panels; ++panel)
        for (std::int64_t k = 0; k < weight.padded_columns(); k += 2) {
          convert(panel, k, 2, few.data());
          std::copy_n(few.data(), width, operands + k * row + panel * width);
          std::copy_n(few.data() + width, width, operands + (k + 1) * row + panel * width);
        }
    }
    const auto offset = layout_of(task * group).offset0 - first_layout.offset0;
    reorder({{DNNL_ARG_FROM, &from, operands},
             {DNNL_ARG_TO, &first_layout, reinterpret_cast<T*>(buffer.data()) + offset}},
            thread_scratch<OneDnnScratch>(reorder.scratch_bytes()));
  });
  return buffer;
}

/// Convolves in bands and returns true, or returns false where that would not be faster than patches.
template <class Types, OneDnnOperand Multiplied, class X>
bool conv_in_bands(HostView<const X> x, const PackedWeight<typename Types::storage>& weight,
                   const ConvSizes& sizes, const Epilogue& epilogue, HostView<typename Types::result> out) {
  // Tuned by measurement: from how many pixels on there are bands, and what the f32 results of one take.
  constexpr std::int64_t fewest_pixels = 1024, tile_bytes = 1 << 19, fewest_rows = 4, most_rows = 8;
  using Operand = typename Types::operand;
  const std::int64_t features = weight.features();
  const BandRows last = band_rows(sizes, sizes.out_height - 1, 1);
  const bool zeros_only_at_edges =
      sizes.pad_top < sizes.kernel_height && last.pad_bottom < sizes.kernel_height &&
      sizes.pad_left < sizes.kernel_width && pad_right(sizes) < sizes.kernel_width;
  if (sizes.out_height * sizes.out_width < fewest_pixels || !zeros_only_at_edges) return false;
  const std::int64_t rows_per_band = std::min(
      sizes.out_height, std::clamp(tile_bytes / (sizes.out_width * features * 4), fewest_rows, most_rows));
  const auto bands = band_conv_for<Multiplied>(sizes, features, rows_per_band);
  if (!bands->fast()) return false;

  const void* weights = weight_in_place<Types, Multiplied>(weight, sizes, bands->weight_layout());
  Buffer rearranged;
  if (!weights) {
    rearranged = rearranged_weight<Types, Multiplied>(weight, sizes, bands->weight_layout());
    weights = rearranged.data();
  }
  const bool in_place = are_operands<Operand, Multiplied, X> && x.row_stride() == sizes.channels;
  const std::int64_t tasks = sizes.batch * bands->bands();
  if (!in_place)
    scratch_memory<PatchScratch>(tasks, (rows_per_band * sizes.stride + sizes.kernel_height) * sizes.width *
                                            sizes.channels * std::int64_t{sizeof(Multiplied)});
  scratch_memory<TileScratch>(tasks, rows_per_band * sizes.out_width * features * std::int64_t{sizeof(f32)});
  scratch_memory<OneDnnScratch>(tasks, bands->scratch_bytes());
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t image = task / bands->bands(), band = task % bands->bands();
    const BandRows rows = bands->rows_of(band);
    const onednn::Primitive& conv = bands->primitive(rows);
    const std::int64_t first_pixel = (image * sizes.height + rows.first_in) * sizes.width;
    const void* src = x.data() + first_pixel * x.row_stride();
    if (!in_place) {
      const std::int64_t pixels = rows.in_rows * sizes.width;
      auto* const copy = reinterpret_cast<Multiplied*>(thread_scratch<PatchScratch>(
          static_cast<std::size_t>(pixels * sizes.channels) * sizeof(Multiplied)));
      for (std::int64_t p = 0; p < pixels; ++p)
        operand_row<Operand, Types::saturate>(
            x.row(first_pixel + p),
            std::span<Multiplied>(copy + p * sizes.channels, static_cast<std::size_t>(sizes.channels)));
      src = copy;
    }
    const std::int64_t pixels = rows.out_rows * sizes.out_width;
    auto* const tile = reinterpret_cast<f32*>(
        thread_scratch<TileScratch>(static_cast<std::size_t>(pixels * features) * sizeof(f32)));
    conv({{DNNL_ARG_SRC, &conv.argument(DNNL_ARG_SRC), src},
          {DNNL_ARG_WEIGHTS, &conv.argument(DNNL_ARG_WEIGHTS), weights},
          {DNNL_ARG_DST, &conv.argument(DNNL_ARG_DST), tile}},
         thread_scratch<OneDnnScratch>(conv.scratch_bytes()));
    const std::int64_t first_out = image * sizes.out_height + band * bands->rows_per_band();
    store_tile<Types>(tile, features, 0, epilogue, out.rows_between(first_out * sizes.out_width, pixels));
  });
  return true;
}

}  // namespace precast::host::detail
