// Moments: mean and variance of values, and the combination of those of chunks into those of an image.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/problem/group_moments.hpp>

namespace precast::host {

/// Mean and variance of values. The mean is `mean + rest`: rounded to f32 alone it would shift every
/// deviation from a large mean.
struct Moments {
  f32 mean = 0;
  f32 rest = 0;
  f32 variance = 0;  ///< of the population
};

/// Sums of one chunk of pixels for each group: deviations from the chunk's own mean, so that nothing cancels.
struct ChunkMoments {
  Moments moments;
  f32 count = 0;
};

/// Pixels of a chunk of a group norm. Chunks of an image begin at its first pixel.
constexpr std::int64_t pixels_of_chunk(std::int64_t channels) {
  constexpr std::int64_t values = 8192;  // as f32 they fit the L1 cache
  return std::clamp<std::int64_t>(values / channels, 1, 1024);
}

/// Combines the moments of chunks (Chan, Golub and LeVeque 1983).
template <class ChunkAt>
Moments combined(std::int64_t chunks, ChunkAt&& at) {
  if (chunks == 1) return at(0).moments;
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

/// Stores a group's moments in the columns of GroupMoments.
inline void store_group_moments(const Moments& of_group, f32 eps, std::span<f32> row) {
  row[GroupMoments::mean] = of_group.mean;
  row[GroupMoments::rest] = of_group.rest;
  row[GroupMoments::inverse_deviation] = 1.0f / std::sqrt(std::max(of_group.variance, 0.0f) + eps);
  row[GroupMoments::variance] = of_group.variance;
}

}  // namespace precast::host
