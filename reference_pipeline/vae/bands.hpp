// Pictures in bands of rows: the rows that a band's convolutions read, and where its input comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include <vae/autoencoder.hpp>

#include <precast/backend.hpp>
#include <precast/memory/memory.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/group_statistics.hpp>
#include <precast/ops/resample.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/watch/place.hpp>
#include <precast/watch/scope.hpp>

namespace precast::vae {

inline namespace PRECAST_BACKEND {

/// Rows [first, last) of a picture.
struct Rows {
  std::int64_t first = 0, last = 0;

  std::int64_t count() const { return last - first; }
  /// These rows and the neighbouring ones that a 3x3 convolution reads.
  Rows read(std::int64_t height) const {
    return {std::max<std::int64_t>(0, first - 1), std::min(height, last + 1)};
  }
};

/// Splits a picture's height into the fewest bands, equal in size to within a row. A band has at least two
/// rows, since the next one looks back that far, but the first may have one, since no band precedes
/// it.
class Bands {
 public:
  Bands(std::int64_t height, std::int64_t width, const Tiling& tiling)
      : height_(height),
        width_(width),
        count_(tiling.band_pixels ? ceil_divide(height, std::max<std::int64_t>(2, tiling.band_pixels / width))
                                  : 1) {}

  bool whole() const { return count_ == 1; }
  template <class Body>
  void for_each(Body&& body) const {
    for_each_from_multiples(1, body);
  }
  /// Calls `body` with bands that start where GroupStatistics starts a partial sum for so many channels:
  /// statistics gathered from them equal the whole picture's.
  template <class Body>
  void for_each_of_statistics(std::int64_t channels, Body&& body) const {
    const std::int64_t pixels = nn::GroupStatistics::pixels_at_once(channels);
    for_each_from_multiples(pixels / std::gcd(pixels, width_), body);
  }

 private:
  template <class Body>
  void for_each_from_multiples(std::int64_t rows, Body&& body) const {
    std::int64_t first = 0;
    for (std::int64_t band = 1; band <= count_; ++band) {
      const std::int64_t end = band < count_ ? height_ * band / count_ / rows * rows : height_;
      if (end > first) body(Rows{first, end});
      first = end;
    }
    // Frees the pool, which would keep the blocks of each pass, whose sizes differ.
    release_cached_memory();
  }

  std::int64_t height_, width_, count_;
};

/// Rows of [1, H, W, C], which are contiguous.
template <class T>
View<const T> rows_of(const Tensor<T>& x, const Rows& rows) {
  const Shape& shape = x.shape();
  return x.view()
      .rows_between(rows.first * shape[2], rows.count() * shape[2])
      .reshaped(Shape{1, rows.count(), shape[2], shape[3]});
}

/// Rows `rows` of a 3x3 convolution's output; `x` holds the input rows that they read.
template <PolicyType P, ScalarArray X>
auto convolved(const nn::Conv2d<P>& conv, const X& x, const Rows& rows, std::int64_t height) {
  return conv.with(x, {.pad_top = rows.first == 0 ? 1 : 0,
                       .pad_left = 1,
                       .pad_bottom = rows.last == height ? 1 : 0,
                       .pad_right = 1});
}

/// Writes bands into the tensor that they are computed from. Each is delayed until the next one, which
/// reads two of its rows, has been computed.
template <class T>
class DelayedRows {
 public:
  explicit DelayedRows(Tensor<T>& to) : to_(to) {}

  void write(Tensor<T> band, const Rows& rows) {
    flush();
    band_ = std::move(band);
    first_ = rows.first;
  }
  void flush() {
    if (!band_) return;
    const std::int64_t row = to_.shape()[2] * to_.shape()[3];
    Tensor<T>::memory_type::copy(to_.data() + first_ * row, band_->data(),
                                 static_cast<std::size_t>(band_->elements()) * sizeof(T));
    band_.reset();
  }

 private:
  Tensor<T>& to_;
  std::optional<Tensor<T>> band_;
  std::int64_t first_ = 0;
};

/// A picture in memory.
template <class T>
struct WholePicture {
  const Tensor<T>& x;

  std::int64_t height() const { return x.shape()[1]; }
  std::int64_t width() const { return x.shape()[2]; }
  std::int64_t channels() const { return x.columns(); }
  View<const T> rows(const Rows& wanted) const { return rows_of(x, wanted); }
};

/// A picture in memory upsampled by 2; rows are computed on demand.
template <PolicyType P>
struct EnlargedPicture {
  const Tensor<typename P::activation>& x;
  const nn::Conv2d<P>& conv;
  const watch::Place& place;  ///< the upsampling's path in the model

  std::int64_t height() const { return 2 * x.shape()[1]; }
  std::int64_t width() const { return 2 * x.shape()[2]; }
  std::int64_t channels() const { return x.columns(); }
  Tensor<typename P::activation> rows(const Rows& wanted) const {
    const watch::ScopeAt scope(place);
    const Rows read = wanted.read(height()), from{read.first / 2, (read.last + 1) / 2};
    const auto enlarged = upsample_nearest<P>(rows_of(x, from), 2);
    return watch::scoped("conv", [&] {
      return convolved<P>(conv, rows_of(enlarged, {read.first - 2 * from.first, read.last - 2 * from.first}),
                          wanted, height());
    });
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::vae
