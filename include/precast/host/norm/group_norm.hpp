// Group normalisation of NHWC images: one pass for the statistics, one for the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <precast/host/norm/norm.hpp>
#include <precast/host/rows/activate_row.hpp>
#include <precast/host/rows/moments.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::host {

namespace detail {

/// Calls `terms(value, mean of its channel, sum, other sum)` for every value of a chunk; the sums of each
/// channel go to the first two rows of `scratch`, the means are in its third.
template <class Terms>
void sum_chunk(const f32* chunk, std::int64_t pixels, std::int64_t channels, f32* scratch, Terms&& terms) {
  constexpr std::int64_t block = 32;  // in blocks: each addition's error grows with the sum so far
  constexpr std::int64_t lanes = 16;  // whose sums stay in registers
  const f32* means = scratch + 2 * channels;
  std::fill(scratch, scratch + 2 * channels, 0.0f);
  const auto sum_block = [&](std::int64_t first, std::int64_t last, std::int64_t channel, auto width) {
    f32 sums[lanes] = {}, others[lanes] = {};
    for (std::int64_t p = first; p < last; ++p)
      for (std::int64_t c = 0; c < width; ++c)
        terms(chunk[p * channels + channel + c], means[channel + c], sums[c], others[c]);
    for (std::int64_t c = 0; c < width; ++c) {
      scratch[channel + c] += sums[c];
      scratch[channels + channel + c] += others[c];
    }
  };
  for (std::int64_t first = 0; first < pixels; first += block) {
    const std::int64_t last = std::min(pixels, first + block);
    std::int64_t channel = 0;
    for (; channel + lanes <= channels; channel += lanes)
      sum_block(first, last, channel, std::integral_constant<std::int64_t, lanes>{});
    if (channel < channels) sum_block(first, last, channel, channels - channel);
  }
}

/// The moments of each group in a chunk of `pixels` rows of `channels` f32 values; `scratch` holds 3 *
/// channels.
inline void chunk_moments(const f32* chunk, std::int64_t pixels, std::int64_t channels, std::int64_t groups,
                          std::span<ChunkMoments> result, f32* scratch) {
  const std::int64_t width = channels / groups;
  const auto count = static_cast<f32>(pixels * width);
  const auto sum_of_group = [&](const f32* sums, std::int64_t g) {
    return sum_of(width, [p = sums + g * width](std::int64_t i) { return p[i]; });
  };
  sum_chunk(chunk, pixels, channels, scratch, [](f32 x, f32, f32& sum, f32&) { sum += x; });
  for (std::int64_t g = 0; g < groups; ++g) {
    ChunkMoments& of_group = result[static_cast<std::size_t>(g)];
    of_group.count = count;
    of_group.moments.mean = sum_of_group(scratch, g) / count;
    f32* means = scratch + 2 * channels + g * width;
    std::fill(means, means + width, of_group.moments.mean);
  }
  sum_chunk(chunk, pixels, channels, scratch, [](f32 x, f32 mean, f32& sum, f32& squares) {
    const f32 deviation = x - mean;
    sum += deviation;
    squares = std::fma(deviation, deviation, squares);
  });
  for (std::int64_t g = 0; g < groups; ++g) {
    const f32 rest = sum_of_group(scratch, g) / count;
    Moments& of_group = result[static_cast<std::size_t>(g)].moments;
    of_group.rest = rest;
    const f32 squares = sum_of_group(scratch + channels, g) / count;
    // Beyond f32 the other may be too, and their difference no number.
    of_group.variance = std::isinf(squares) ? squares : squares - rest * rest;
  }
}

}  // namespace detail

namespace detail {

/// The pixels of images [B, H, W, C] in chunks, as f32.
template <class From>
struct PixelChunks {
  HostView<const From> x;
  std::int64_t batch = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], channels = x.columns();
  std::int64_t chunk = pixels_of_chunk(channels);
  std::int64_t chunks = ceil_divide(pixels, chunk);

  /// Calls `body(chunk of all images, image, first pixel of all images, pixels, values, scratch of 3 *
  /// channels)` for each.
  template <class Body>
  void for_each(Body&& body) const {
    parallel_for(batch * chunks, [&](std::int64_t task) {
      const std::int64_t b = task / chunks, start = task % chunks * chunk,
                         count = std::min(chunk, pixels - start);
      HostTensor<f32> scratch(Shape{chunk + 3, channels});
      body(task, b, b * pixels + start, count, load(b * pixels + start, count, scratch.data()),
           scratch.data() + chunk * channels);
    });
  }

 private:
  /// Where they are f32 and side by side already, in place.
  const f32* load(std::int64_t first, std::int64_t count, f32* scratch) const {
    if constexpr (std::is_same_v<From, f32>)
      if (x.contiguous()) return x.data() + first * channels;
    for (std::int64_t p = 0; p < count; ++p)
      convert_row<f32>(x.row(first + p),
                       std::span<f32>(scratch + p * channels, static_cast<std::size_t>(channels)));
    return scratch;
  }
};

template <class From>
void write_group_moments(const PixelChunks<From>& pixels, std::int64_t groups, f32 eps,
                         HostView<f32> moments) {
  std::vector<ChunkMoments> partial(static_cast<std::size_t>(pixels.batch * pixels.chunks * groups));
  pixels.for_each([&](std::int64_t task, std::int64_t, std::int64_t, std::int64_t count, const f32* in,
                      f32* scratch) {
    chunk_moments(
        in, count, pixels.channels, groups,
        std::span(partial).subspan(static_cast<std::size_t>(task * groups), static_cast<std::size_t>(groups)),
        scratch);
  });
  for (std::int64_t b = 0; b < pixels.batch; ++b)
    for (std::int64_t g = 0; g < groups; ++g) {
      const Moments all = combined(pixels.chunks, [&](std::int64_t i) -> const ChunkMoments& {
        return partial[static_cast<std::size_t>((b * pixels.chunks + i) * groups + g)];
      });
      store_group_moments(all, eps, moments.row(b * groups + g));
    }
}

/// Normalises with such moments, times scale plus shift, then an activation.
template <class Types, class From>
void normalise_groups(const PixelChunks<From>& pixels, HostView<const f32> moments, HostView<const f32> scale,
                      HostView<const f32> shift, ActivationFunction activation,
                      HostView<typename Types::result> out) {
  const std::int64_t batch = pixels.batch, channels = pixels.channels, groups = moments.rows() / batch,
                     width = channels / groups;
  // Per batch and channel: mean, rest of the mean, and what a deviation is multiplied by.
  HostTensor<f32> means(Shape{batch, channels}), rests(Shape{batch, channels}),
      factors(Shape{batch, channels});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::span<const f32> of_group = moments.row(b * groups + c / width);
      means.data()[b * channels + c] = of_group[GroupMoments::mean];
      rests.data()[b * channels + c] = of_group[GroupMoments::rest];
      factors.data()[b * channels + c] = of_group[GroupMoments::inverse_deviation] * scale.data()[c];
    }
  pixels.for_each(
      [&](std::int64_t, std::int64_t b, std::int64_t first, std::int64_t count, const f32* in, f32* scratch) {
        const f32* mean = means.data() + b * channels;
        const f32* rest = rests.data() + b * channels;
        const f32* factor = factors.data() + b * channels;
        const f32* offset = shift.data();
        for (std::int64_t p = 0; p < count; ++p) {
          const std::span<f32> computed = row_to_compute(out.row(first + p), scratch);
          f32* const to = computed.data();
          for (std::int64_t c = 0; c < channels; ++c)
            to[c] = std::fma((in[p * channels + c] - mean[c]) - rest[c], factor[c], offset[c]);
          activate_row(activation, computed);
          store_row<Types::saturate>(std::span<const f32>(computed), out.row(first + p));
        }
      });
}

}  // namespace detail

/// The moments of each group of neighbouring channels of each image of [B, H, W, C], to [B * groups, 4]:
/// GroupMoments.
template <class From>
void group_moments(HostView<const From> x, std::int64_t groups, f32 eps, HostView<f32> moments) {
  detail::write_group_moments(detail::PixelChunks<From>{x}, groups, eps, moments);
}

/// Group normalisation with moments that are given as group_moments writes them.
template <class Types, class From, class W>
void group_norm_with(HostView<const From> x, HostView<const f32> moments, HostView<const W> scale,
                     HostView<const W> shift, ActivationFunction activation,
                     HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(!is_narrow<Types>, "group_norm_with keeps its statistics in f32.");
  const detail::WideRows scales = detail::wide_rows(scale), shifts = detail::wide_rows(shift);
  detail::normalise_groups<Types>(detail::PixelChunks<From>{x}, moments, scales.rows, shifts.rows, activation,
                                  out);
}

/// Group normalisation (Wu and He 2018) of [B, H, W, C] in `groups` of neighbouring channels, times scale
/// plus shift, then an activation.
template <class Types, class From, class W>
void group_norm(HostView<const From> x, std::int64_t groups, HostView<const W> scale, HostView<const W> shift,
                f32 eps, ActivationFunction activation, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "group_norm takes its operand as given, or widened to f32.");
  if constexpr (is_narrow<Types>) {
    elementwise::visit_activation(activation, [&]<class F>(F) {
      detail::narrow_group_norm<Types, F>(x, groups, scale, shift, eps, out);
    });
  } else {
    HostTensor<f32> moments(group_moments_shape(x.shape()[0], groups));
    group_moments(x, groups, eps, moments.view());
    group_norm_with<Types>(x, HostView<const f32>(moments.view()), scale, shift, activation, out);
  }
}

}  // namespace precast::host
