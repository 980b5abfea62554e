// Bands of rows of a picture, and the code that oneDNN makes to convolve them: kept, and counted in dry runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/host/onednn.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/problem/conv_sizes.hpp>

namespace precast::host::detail {

struct BandCode;
/// Measured of oneDNN 2.6: what it keeps for one kind of band, its description (two tables of 54 KiB) and its
/// code with what that is made of.
inline constexpr std::int64_t band_code_bytes = std::int64_t{460} << 10;

/// The rows of a picture that a band of output rows reads, and the zeros above and below them.
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

/// The zeros that the last output column reads right of the picture.
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

/// What oneDNN's code for a band depends on, the dtype's size among it. Convolutions of pictures of other
/// heights share the code.
using BandKey = std::array<std::int64_t, 15>;

/// The kinds of bands that dry runs described in this process, in their order.
class DescribedBands {
 public:
  static DescribedBands& instance() {
    static DescribedBands described;
    return described;
  }
  /// How many kinds there are up to this one, which is added where it is new.
  std::int64_t up_to(const BandKey& key) {
    const std::lock_guard lock(mutex_);
    return places_.emplace(key, std::ssize(places_) + 1).first->second;
  }
  /// Begins anew, and returns how many there were.
  std::int64_t forget() {
    const std::lock_guard lock(mutex_);
    return std::ssize(std::exchange(places_, {}));
  }

 private:
  std::mutex mutex_;
  std::map<BandKey, std::int64_t> places_;
};

/// The code for one kind of band.
template <OneDnnOperand T>
class BandKind {
 public:
  BandKind(const ConvSizes& sizes, std::int64_t features, std::int64_t rows_per_band, const BandRows& rows)
      : sizes_(sizes),
        features_(features),
        rows_(rows),
        key_{sizes.width,  sizes.out_width, sizes.channels,  sizes.kernel_height, sizes.kernel_width,
             sizes.stride, sizes.pad_left,  features,        rows_per_band,       rows.out_rows,
             rows.in_rows, rows.pad_top,    rows.pad_bottom, pad_right(sizes),    std::int64_t{sizeof(T)}} {}

  /// Whether they are computed by the same code.
  bool operator==(const BandKind& other) const { return key_ == other.key_; }
  /// The code, which is kept. `weights` follows from the rest, or is any layout.
  std::shared_ptr<const onednn::Primitive> primitive(const dnnl_memory_desc_t& weights) const {
    static onednn::Cache<BandKey, onednn::Primitive> cache(256);
    const auto make = [&] { return band_conv<T>(sizes_, features_, rows_, weights); };
    if (DryRun::active()) return std::make_shared<const onednn::Primitive>(make());
    return cache.find_or_make(key_, make);
  }
  const BandKey& key() const { return key_; }

 private:
  ConvSizes sizes_;
  std::int64_t features_;
  BandRows rows_;
  BandKey key_;
};

/// Everything that oneDNN compiled for one convolution: the middle band, whose layout of the weight all
/// others take, and the bands that differ from it. In a dry run, what is known of it without the code.
template <OneDnnOperand T>
class BandConv {
 public:
  BandConv(const ConvSizes& sizes, std::int64_t features, std::int64_t rows_per_band)
      : sizes_(sizes), rows_per_band_(rows_per_band) {
    const auto kind_of = [&](const BandRows& rows) {
      return BandKind<T>(sizes, features, rows_per_band, rows);
    };
    const BandRows middle{rows_per_band, 0, (rows_per_band - 1) * sizes.stride + sizes.kernel_height, 0, 0};
    add(kind_of(middle), onednn::any_layout(onednn::data_type<T>, {features, sizes.channels,
                                                                   sizes.kernel_height, sizes.kernel_width}));
    weight_layout_ = kinds_.front().second->argument(DNNL_ARG_WEIGHTS);
    for (std::int64_t band = 0; band < bands(); ++band) {
      const BandKind<T> kind = kind_of(rows_of(band));
      const auto known = std::ranges::find(kinds_, kind, [](const auto& made) { return made.first; });
      kind_of_band_.push_back(known - kinds_.begin());
      if (known == kinds_.end()) add(kind, weight_layout_);
    }
    if (!DryRun::active()) return;
    for (auto& kind : kinds_) kind.second.reset();
  }

  /// Whether oneDNN has more than plain loops for it.
  bool fast() const { return fast_; }
  std::int64_t rows_per_band() const { return rows_per_band_; }
  std::int64_t bands() const { return ceil_divide(sizes_.out_height, rows_per_band_); }
  BandRows rows_of(std::int64_t band) const {
    const std::int64_t first = band * rows_per_band_;
    return band_rows(sizes_, first, std::min(rows_per_band_, sizes_.out_height - first));
  }
  const onednn::Primitive& primitive(std::int64_t band) const {
    const auto kind = static_cast<std::size_t>(kind_of_band_[static_cast<std::size_t>(band)]);
    return *kinds_[kind].second;
  }
  /// The most that oneDNN wants for one band.
  std::int64_t scratch_bytes() const { return static_cast<std::int64_t>(scratch_bytes_); }
  /// What oneDNN keeps for this and for all that dry runs described before it.
  std::int64_t described_code_bytes() const {
    std::int64_t kinds = 0;
    for (const auto& kind : kinds_)
      kinds = std::max(kinds, DescribedBands::instance().up_to(kind.first.key()));
    return kinds * band_code_bytes;
  }
  const dnnl_memory_desc_t& weight_layout() const { return weight_layout_; }

 private:
  void add(const BandKind<T>& kind, const dnnl_memory_desc_t& weights) {
    const auto primitive = kind.primitive(weights);
    scratch_bytes_ = std::max(scratch_bytes_, primitive->scratch_bytes());
    fast_ = fast_ && primitive->implementation().find("ref") == std::string_view::npos;
    kinds_.emplace_back(kind, primitive);
  }

  ConvSizes sizes_;
  std::int64_t rows_per_band_;
  dnnl_memory_desc_t weight_layout_;
  std::vector<std::pair<BandKind<T>, std::shared_ptr<const onednn::Primitive>>> kinds_;
  std::vector<std::ptrdiff_t> kind_of_band_;
  std::size_t scratch_bytes_ = 0;
  bool fast_ = true;
};

template <OneDnnOperand T>
std::shared_ptr<const BandConv<T>> band_conv_for(const ConvSizes& sizes, std::int64_t features,
                                                 std::int64_t rows_per_band) {
  using Key = std::array<std::int64_t, 12>;
  static onednn::Cache<Key, BandConv<T>> cache(128);
  return cache.find_or_make(
      {sizes.height, sizes.width, sizes.channels, sizes.kernel_height, sizes.kernel_width, sizes.stride,
       sizes.pad_top, sizes.pad_left, sizes.out_height, sizes.out_width, features, rows_per_band},
      [&] { return BandConv<T>(sizes, features, rows_per_band); });
}

}  // namespace precast::host::detail
