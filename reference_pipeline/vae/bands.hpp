// Pictures in bands of rows: which rows a band's convolutions read, and where a band's input comes from.
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
  /// These and those beside them that a convolution of 3 x 3 reads.
  Rows read(std::int64_t height) const {
    return {std::max<std::int64_t>(0, first - 1), std::min(height, last + 1)};
  }
};

/// A picture's height in bands, as many as there have to be and all of one size, to a row. A band has two
/// rows at least, since that far the one after it looks back; the first may have one, since nothing lies
/// before it.
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
  /// Bands that begin where statistics of pictures of so many channels begin a sum of their own: gathered
  /// from them, these are the whole picture's.
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
    // Each pass has sizes of its own, and the pool would keep all of them.
    release_cached_memory();
  }

  std::int64_t height_, width_, count_;
};

/// Rows of [1, H, W, C], which lie together.
template <class T>
View<const T> rows_of(const Tensor<T>& x, const Rows& rows) {
  const Shape& shape = x.shape();
  return x.view()
      .rows_between(rows.first * shape[2], rows.count() * shape[2])
      .reshaped(Shape{1, rows.count(), shape[2], shape[3]});
}

/// Rows `rows` of what a convolution of 3 x 3 makes of a picture; `x` holds what they read of it.
template <PolicyType P, ScalarArray X>
auto convolved(const nn::Conv2d<P>& conv, const X& x, const Rows& rows, std::int64_t height) {
  return conv.with(x, {.pad_top = rows.first == 0 ? 1 : 0,
                       .pad_left = 1,
                       .pad_bottom = rows.last == height ? 1 : 0,
                       .pad_right = 1});
}

/// Writes bands into the tensor that they are made of: each only after the next one, which reads two of its
/// rows, has been made.
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

/// A picture that is in memory.
template <class T>
struct WholePicture {
  const Tensor<T>& x;

  std::int64_t height() const { return x.shape()[1]; }
  std::int64_t width() const { return x.shape()[2]; }
  std::int64_t channels() const { return x.columns(); }
  View<const T> rows(const Rows& wanted) const { return rows_of(x, wanted); }
};

/// A picture twice as large as one that is in memory, of which rows are made when they are asked for.
template <PolicyType P>
struct EnlargedPicture {
  const Tensor<typename P::activation>& x;
  const nn::Conv2d<P>& conv;
  const watch::Place& place;  ///< of the change of resolution in the model

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
