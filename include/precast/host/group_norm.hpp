// Group normalisation of NHWC images: one pass for the statistics, one for the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <precast/host/norm.hpp>

namespace precast::host {

namespace detail {

/// Sums of one chunk of pixels for each group: deviations from the chunk's own mean, so that nothing cancels.
struct ChunkMoments {
  Moments moments;
  f32 count = 0;
};

/// The moments of each group in a chunk of `pixels` rows of `channels` f32 values; `scratch` holds 3 * channels.
inline void chunk_moments(const f32* chunk, std::int64_t pixels, std::int64_t channels, std::int64_t groups,
                          std::span<ChunkMoments> result, f32* scratch) {
  const std::int64_t width = channels / groups;
  const f32 count = static_cast<f32>(pixels * width);
  f32* sums = scratch;
  f32* means = scratch + channels;
  f32* block_sums = scratch + 2 * channels;
  const auto sum_of_group = [&](std::int64_t g) {
    return sum_of(width, [p = sums + g * width](std::int64_t i) { return p[i]; });
  };
  const auto sum_pixels = [&](auto&& term) {
    constexpr std::int64_t block = 32;  // in blocks: each addition's error grows with the sum so far
    std::fill(sums, sums + channels, 0.0f);
    for (std::int64_t first = 0; first < pixels; first += block) {
      std::fill(block_sums, block_sums + channels, 0.0f);
      for (std::int64_t p = first; p < std::min(pixels, first + block); ++p)
        for (std::int64_t c = 0; c < channels; ++c) block_sums[c] += term(chunk[p * channels + c], means[c]);
      for (std::int64_t c = 0; c < channels; ++c) sums[c] += block_sums[c];
    }
  };
  std::fill(means, means + channels, 0.0f);
  sum_pixels([](f32 x, f32) { return x; });
  for (std::int64_t g = 0; g < groups; ++g) {
    result[g].count = count;
    result[g].moments.mean = sum_of_group(g) / count;
    std::fill(means + g * width, means + (g + 1) * width, result[g].moments.mean);
  }
  sum_pixels([](f32 x, f32 mean) { return x - mean; });
  for (std::int64_t g = 0; g < groups; ++g) result[g].moments.rest = sum_of_group(g) / count;
  sum_pixels([](f32 x, f32 mean) { return (x - mean) * (x - mean); });
  for (std::int64_t g = 0; g < groups; ++g) {
    const f32 rest = result[g].moments.rest;
    result[g].moments.variance = sum_of_group(g) / count - rest * rest;
  }
}

/// Chunks' moments as one (Chan, Golub and LeVeque 1983).
template <class ChunkAt>
Moments combined(std::int64_t chunks, ChunkAt&& at) {
  const f32 count = sum_of(chunks, [&](std::int64_t i) { return at(i).count; });
  const auto mean_of = [&](auto&& term) {
    return sum_of(chunks, [&](std::int64_t i) { return at(i).count / count * term(at(i).moments); });
  };
  Moments all;
  all.mean = mean_of([](const Moments& m) { return m.mean; });
  all.rest = mean_of([&](const Moments& m) { return (m.mean - all.mean) + m.rest; });
  all.variance = mean_of([&](const Moments& m) {
    const f32 apart = ((m.mean - all.mean) + m.rest) - all.rest;
    return m.variance + apart * apart;
  });
  return all;
}

}  // namespace detail

/// Group normalisation (Wu and He 2018) of [B, H, W, C] in `groups` of neighbouring channels, times scale plus shift,
/// then an activation.
template <class Types, class From>
void group_norm(View<const From> x, std::int64_t groups, View<const f32> scale, View<const f32> shift, f32 eps,
                Activate activation, View<typename Types::result> out) {
  const std::int64_t batch = x.shape()[0], channels = x.columns(), width = channels / groups;
  const std::int64_t pixels = x.shape()[1] * x.shape()[2];
  const std::int64_t chunk = std::clamp<std::int64_t>(8 * values_per_chunk / channels, 1, 1024);
  const std::int64_t chunks = (pixels + chunk - 1) / chunk;
  std::vector<detail::ChunkMoments> partial(static_cast<std::size_t>(batch * chunks * groups));
  // One chunk of pixels as f32, in place where they are f32 and side by side already.
  const auto load = [&](std::int64_t first, std::int64_t count, f32* scratch) -> const f32* {
    if constexpr (std::is_same_v<From, f32>)
      if (x.contiguous()) return x.data() + first * channels;
    for (std::int64_t p = 0; p < count; ++p)
      convert_row<f32>(x.row(first + p), std::span<f32>(scratch + p * channels, static_cast<std::size_t>(channels)));
    return scratch;
  };
  const auto for_each_chunk = [&](auto&& body) {
    parallel_for(batch * chunks, [&](std::int64_t task) {
      const std::int64_t b = task / chunks, start = task % chunks * chunk, count = std::min(chunk, pixels - start);
      Tensor<f32> scratch(Shape{chunk + 3, channels});
      body(task, b, b * pixels + start, count, load(b * pixels + start, count, scratch.data()),
           scratch.data() + chunk * channels);
    });
  };
  for_each_chunk([&](std::int64_t task, std::int64_t, std::int64_t, std::int64_t count, const f32* in, f32* scratch) {
    detail::chunk_moments(in, count, channels, groups,
                          std::span(partial).subspan(static_cast<std::size_t>(task * groups), static_cast<std::size_t>(groups)),
                          scratch);
  });
  // Per batch and channel: mean, rest of the mean, and what a deviation is multiplied by.
  Tensor<f32> means(Shape{batch, channels}), rests(Shape{batch, channels}), factors(Shape{batch, channels});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const Moments all = detail::combined(chunks, [&](std::int64_t i) -> const detail::ChunkMoments& {
        return partial[static_cast<std::size_t>((b * chunks + i) * groups + g)];
      });
      const f32 inverse = 1.0f / std::sqrt(std::max(all.variance, 0.0f) + eps);
      for (std::int64_t c = g * width; c < (g + 1) * width; ++c) {
        means.data()[b * channels + c] = all.mean;
        rests.data()[b * channels + c] = all.rest;
        factors.data()[b * channels + c] = inverse * scale.data()[c];
      }
    }
  }
  with_activation(activation, [&](auto constant) {
    for_each_chunk([&](std::int64_t, std::int64_t b, std::int64_t first, std::int64_t count, const f32* in, f32* scratch) {
      const f32* mean = means.data() + b * channels;
      const f32* rest = rests.data() + b * channels;
      const f32* factor = factors.data() + b * channels;
      const f32* offset = shift.data();
      for (std::int64_t p = 0; p < count; ++p) {
        const std::span<f32> computed = row_to_compute(out.row(first + p), scratch);
        for (std::int64_t c = 0; c < channels; ++c)
          computed[c] = activate<constant()>(
              std::fma((in[p * channels + c] - mean[c]) - rest[c], factor[c], offset[c]));
        store_row<Types::saturate>(std::span<const f32>(computed), out.row(first + p));
      }
    });
  });
}

}  // namespace precast::host
