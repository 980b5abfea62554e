// Group normalisation of NHWC images: one pass for the statistics, one for the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <precast/host/norm/narrow_norm.hpp>
#include <precast/host/norm/norm.hpp>
#include <precast/host/rows/activate_row.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/rows/moments.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::host {

namespace detail {

/// Calls `terms(values, shifts of their channels, sums, other sums)` for the values of a chunk, a vector of
/// channels at a time; the sums of each channel go to the first two rows of `scratch`, the shifts are in its
/// third. All rows are whole vectors.
template <class Terms>
void sum_chunk(const f32* chunk, std::int64_t pixels, std::int64_t row, f32* scratch, Terms&& terms) {
  constexpr std::int64_t block = 32;  // in blocks: an addition's error grows with the running sum
  const auto sum_vectors = [&]<int vectors>(std::int64_t channel, std::integral_constant<int, vectors>) {
    Lanes shifts[vectors], totals[2][vectors];
    for (int v = 0; v < vectors; ++v) {
      shifts[v] = Lanes::load(scratch + 2 * row + channel + v * Lanes::width);
      totals[0][v] = totals[1][v] = Lanes::zero();
    }
    for (std::int64_t first = 0; first < pixels; first += block) {
      Lanes sums[2][vectors];
      for (int v = 0; v < vectors; ++v) sums[0][v] = sums[1][v] = Lanes::zero();
      for (std::int64_t p = first; p < std::min(pixels, first + block); ++p)
        for (int v = 0; v < vectors; ++v)
          terms(Lanes::load(chunk + p * row + channel + v * Lanes::width), shifts[v], sums[0][v], sums[1][v]);
      for (int v = 0; v < vectors; ++v) {
        totals[0][v] = totals[0][v] + sums[0][v];
        totals[1][v] = totals[1][v] + sums[1][v];
      }
    }
    for (int v = 0; v < vectors; ++v) {
      totals[0][v].store(scratch + channel + v * Lanes::width);
      totals[1][v].store(scratch + row + channel + v * Lanes::width);
    }
  };
  constexpr int side_by_side = 4;  // to hide the latency of additions
  std::int64_t channel = 0;
  for (; channel + side_by_side * Lanes::width <= row; channel += side_by_side * Lanes::width)
    sum_vectors(channel, std::integral_constant<int, side_by_side>{});
  for (; channel < row; channel += Lanes::width) sum_vectors(channel, std::integral_constant<int, 1>{});
}

/// The moments of each group in a chunk of `pixels` rows of `channels` f32 values, `row` apart; `scratch`
/// holds three such rows, and the padding that sum_of_padded may read behind them.
inline void chunk_moments(const f32* chunk, std::int64_t pixels, std::int64_t channels, std::int64_t row,
                          std::int64_t groups, std::span<ChunkMoments> result, f32* scratch) {
  const std::int64_t width = channels / groups;
  const auto count = static_cast<f32>(pixels * width);
  const auto sum_of_group = [&](const f32* sums, std::int64_t g) {
    return sum_of_padded(sums + g * width, width);
  };
  f32* const shifts = scratch + 2 * row;
  std::fill(shifts, shifts + row, 0.0f);
  sum_chunk(chunk, pixels, row, scratch, [](Lanes x, Lanes, Lanes& sum, Lanes&) { sum = sum + x; });
  for (std::int64_t g = 0; g < groups; ++g) {
    ChunkMoments& of_group = result[static_cast<std::size_t>(g)];
    of_group.count = count;
    of_group.moments.mean = sum_of_group(scratch, g) / count;
    std::fill_n(shifts + g * width, width, -of_group.moments.mean);
  }
  sum_chunk(chunk, pixels, row, scratch, [](Lanes x, Lanes shift, Lanes& sum, Lanes& squares) {
    const Lanes deviation = x + shift;
    sum = sum + deviation;
    squares = squares.plus_product(deviation, deviation);
  });
  for (std::int64_t g = 0; g < groups; ++g) {
    const f32 rest = sum_of_group(scratch, g) / count;
    Moments& of_group = result[static_cast<std::size_t>(g)].moments;
    of_group.rest = rest;
    const f32 squares = sum_of_group(scratch + row, g) / count;
    // Beyond f32 the other may be too, and their difference no number.
    of_group.variance = std::isinf(squares) ? squares : squares - rest * rest;
  }
}

/// `count` rows from `first` on as f32, `row` apart, with zeros behind each: in place if possible, else in
/// `scratch`.
template <class From>
const f32* rows_in_f32(HostView<const From> x, std::int64_t first, std::int64_t count, std::int64_t row,
                       f32* scratch) {
  if constexpr (std::is_same_v<From, f32>)
    if (x.contiguous() && x.columns() == row) return x.row(first).data();
  for (std::int64_t r = 0; r < count; ++r) {
    f32* const to = scratch + r * row;
    convert_row<f32>(x.row(first + r), std::span<f32>(to, static_cast<std::size_t>(x.columns())));
    std::fill(to + x.columns(), to + row, 0.0f);
  }
  return scratch;
}

}  // namespace detail

/// The moments of each group of neighbouring channels of each image of [B, H, W, C], to [B * groups, 4]:
/// GroupMoments.
template <class From>
void group_moments(HostView<const From> x, std::int64_t groups, f32 eps, HostView<f32> moments) {
  const std::int64_t batch = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], channels = x.columns();
  const std::int64_t chunk = pixels_of_chunk(channels), chunks = ceil_divide(pixels, chunk);
  const std::int64_t row = rounded_up(channels, Lanes::width);
  std::vector<ChunkMoments> partial(static_cast<std::size_t>(batch * chunks * groups));
  parallel_for(batch * chunks, [&](std::int64_t task) {
    const std::int64_t start = task % chunks * chunk, count = std::min(chunk, pixels - start);
    HostTensor<f32> scratch(Shape{(chunk + 3) * row + detail::sum_lanes});
    const f32* const values =
        detail::rows_in_f32(x, task / chunks * pixels + start, count, row, scratch.data());
    detail::chunk_moments(
        values, count, channels, row, groups,
        std::span(partial).subspan(static_cast<std::size_t>(task * groups), static_cast<std::size_t>(groups)),
        scratch.data() + chunk * row);
  });
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t g = 0; g < groups; ++g) {
      const Moments all = combined(chunks, [&](std::int64_t i) -> const ChunkMoments& {
        return partial[static_cast<std::size_t>((b * chunks + i) * groups + g)];
      });
      store_group_moments(all, eps, moments.row(b * groups + g));
    }
}

/// Group normalisation with moments in the layout of group_moments.
template <class Types, class From, class W>
void group_norm_with(HostView<const From> x, HostView<const f32> moments, HostView<const W> scale,
                     HostView<const W> shift, ActivationFunction activation,
                     HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(!is_narrow<Types>, "group_norm_with keeps its statistics in f32.");
  const detail::WideRows scales = detail::wide_rows(scale), shifts = detail::wide_rows(shift);
  const std::int64_t batch = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], channels = x.columns(),
                     groups = moments.rows() / batch, width = channels / groups;
  // Per batch and channel: mean, rest of the mean, and the factor of a deviation.
  HostTensor<f32> means(Shape{batch, channels}), rests(Shape{batch, channels}),
      factors(Shape{batch, channels});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::span<const f32> of_group = moments.row(b * groups + c / width);
      means.data()[b * channels + c] = of_group[GroupMoments::mean];
      rests.data()[b * channels + c] = of_group[GroupMoments::rest];
      factors.data()[b * channels + c] = of_group[GroupMoments::inverse_deviation] * scales.rows.data()[c];
    }
  for_each_row<Types>(x, out, [&](std::int64_t pixel, std::span<const f32> in, std::span<f32> computed) {
    const std::int64_t of_image = pixel / pixels * channels;
    const f32 *const mean = means.data() + of_image, *const rest = rests.data() + of_image;
    const f32 *const factor = factors.data() + of_image, *const offset = shifts.rows.data();
    for (std::size_t c = 0; c < in.size(); ++c)
      computed[c] = std::fma((in[c] - mean[c]) - rest[c], factor[c], offset[c]);
    activate_row(activation, computed);
  });
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
