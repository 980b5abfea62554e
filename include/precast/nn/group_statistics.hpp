// GroupStatistics: what a group norm knows of an image that it sees in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <precast/backend.hpp>
#include <precast/host/moments.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// Mean and variance of each group of channels of one image, gathered from its parts. On the host they are
/// those of the whole image bit for bit, where every part but the last is a multiple of `pixels_at_once`.
class GroupStatistics {
 public:
  explicit GroupStatistics(std::int64_t groups) : groups_(static_cast<std::size_t>(groups)) {}

  /// Pixels whose moments are taken together before any are combined; of a device all of a part.
  static std::int64_t pixels_at_once(std::int64_t channels) {
    return backend::Memory::on_host ? host::detail::pixels_of_chunk(channels) : 1;
  }

  /// One more part, [1, h, w, C], behind those before it.
  template <ScalarArray X>
  void add(const X& part) {
    const auto pixels = as_view(part);
    if (pixels.elements() == 0) return;
    const std::int64_t count = pixels.rows(), channels = pixels.columns();
    const std::int64_t chunk = std::clamp<std::int64_t>(
        backend::Memory::on_host ? pixels_at_once(channels) : count, 1, std::max<std::int64_t>(1, count));
    const std::int64_t whole = count / chunk * chunk;
    add_chunks(pixels.rows_between(0, whole).reshaped(Shape{count / chunk, 1, chunk, channels}));
    if (whole < count)
      add_chunks(pixels.rows_between(whole, count - whole).reshaped(Shape{1, 1, count - whole, channels}));
  }

  /// Of all parts so far, as group_norm_with takes them.
  Tensor<f32> moments(double eps) const {
    std::vector<f32> values(4 * groups_);
    for (std::size_t g = 0; g < groups_ && !chunks_.empty(); ++g) {
      const auto chunks = static_cast<std::int64_t>(chunks_.size() / groups_);
      const host::Moments all = host::detail::combined(chunks, [&](std::int64_t i) -> const Chunk& {
        return chunks_[static_cast<std::size_t>(i) * groups_ + g];
      });
      values[4 * g] = all.mean;
      values[4 * g + 1] = all.rest;
      values[4 * g + 2] = host::detail::inverse_deviation(all, static_cast<f32>(eps));
      values[4 * g + 3] = all.variance;
    }
    return Tensor<f32>(Shape{static_cast<std::int64_t>(groups_), 4}, values);
  }

 private:
  using Chunk = host::detail::ChunkMoments;

  /// Chunks [N, 1, pixels, C].
  template <ScalarArray X>
  void add_chunks(const X& chunks) {
    const HostTensor<f32> moments =
        to_host(group_moments(chunks, {.groups = static_cast<std::int64_t>(groups_), .eps = 0}));
    if (DryRun::active()) return;
    const auto count = static_cast<f32>(chunks.rows() / chunks.shape()[0] * chunks.columns() /
                                        static_cast<std::int64_t>(groups_));
    for (std::int64_t i = 0; i < moments.rows(); ++i) {
      const f32* const of = moments.data() + 4 * i;
      chunks_.push_back({{of[0], of[1], of[3]}, count});
    }
  }

  std::size_t groups_;
  std::vector<Chunk> chunks_;  ///< of all groups, chunk by chunk
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
