// GroupStatistics: the statistics of a group norm over an image that comes in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/backend.hpp>
#include <precast/host/rows/moments.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/problem/group_moments.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// Mean and variance of each group of channels of one image, gathered from its parts. On the host they
/// equal those of the whole image bit for bit, if all parts but the last are multiples of `pixels_at_once`.
class GroupStatistics {
 public:
  explicit GroupStatistics(std::int64_t groups) : groups_(static_cast<std::size_t>(groups)) {}

  /// The number of pixels whose moments are taken together; 1 on a device, which takes a part at once.
  static std::int64_t pixels_at_once(std::int64_t channels) {
    return backend::Memory::on_host ? host::pixels_of_chunk(channels) : 1;
  }

  /// Adds the next part, [1, h, w, C].
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

  /// The moments of all parts so far, as group_norm_with takes them.
  Tensor<f32> moments(double eps) const {
    std::vector<f32> values(GroupMoments::columns * groups_);
    for (std::size_t g = 0; g < groups_ && !chunks_.empty(); ++g) {
      const auto chunks = static_cast<std::int64_t>(chunks_.size() / groups_);
      const host::Moments all = host::combined(chunks, [&](std::int64_t i) -> const Chunk& {
        return chunks_[static_cast<std::size_t>(i) * groups_ + g];
      });
      host::store_group_moments(all, static_cast<f32>(eps),
                                std::span(values).subspan(GroupMoments::columns * g, GroupMoments::columns));
    }
    return Tensor<f32>(group_moments_shape(1, static_cast<std::int64_t>(groups_)), values);
  }

 private:
  using Chunk = host::ChunkMoments;

  /// Chunks [N, 1, pixels, C].
  template <ScalarArray X>
  void add_chunks(const X& chunks) {
    const HostTensor<f32> moments =
        to_host(group_moments(chunks, {.groups = static_cast<std::int64_t>(groups_), .eps = 0}));
    if (DryRun::active()) return;
    const auto count = static_cast<f32>(chunks.rows() / chunks.shape()[0] * chunks.columns() /
                                        static_cast<std::int64_t>(groups_));
    for (std::int64_t i = 0; i < moments.rows(); ++i) {
      const std::span<const f32> of = moments.view().row(i);
      chunks_.push_back(
          {{of[GroupMoments::mean], of[GroupMoments::rest], of[GroupMoments::variance]}, count});
    }
  }

  std::size_t groups_;
  std::vector<Chunk> chunks_;  ///< of all groups, chunk by chunk
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
