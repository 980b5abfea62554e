// GroupStatistics: what a group norm knows of an image that it sees in parts.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <precast/backend.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// Mean and variance of each group of channels of one image, gathered from its parts (Chan, Golub and
/// LeVeque 1983), in double.
class GroupStatistics {
 public:
  explicit GroupStatistics(std::int64_t groups) : groups_(static_cast<std::size_t>(groups)) {}

  /// One more part, [1, h, w, C].
  template <ScalarArray X>
  void add(const X& part) {
    const HostTensor<f32> moments =
        to_host(group_moments(part, {.groups = static_cast<std::int64_t>(groups_.size()), .eps = 0}));
    if (DryRun::active()) return;
    const double count = static_cast<double>(part.shape().elements()) / static_cast<double>(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const f32* const of = moments.data() + 4 * g;
      const double mean = static_cast<double>(of[0]) + of[1], deviation = 1.0 / of[2];
      Group& group = groups_[g];
      const double all = count_ + count, apart = mean - group.mean;
      group.squares += deviation * deviation * count + apart * apart * count_ * count / all;
      group.mean += apart * count / all;
    }
    count_ += count;
  }

  /// Of all parts so far, as group_norm_with takes them.
  Tensor<f32> moments(double eps) const {
    std::vector<f32> values(4 * groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      values[4 * g] = static_cast<f32>(group.mean);
      values[4 * g + 1] = static_cast<f32>(group.mean - values[4 * g]);
      values[4 * g + 2] = static_cast<f32>(1.0 / std::sqrt(group.squares / count_ + eps));
    }
    return Tensor<f32>(Shape{static_cast<std::int64_t>(groups_.size()), 4}, values);
  }

 private:
  struct Group {
    double mean = 0, squares = 0;  ///< of deviations from the mean
  };
  std::vector<Group> groups_;
  double count_ = 0;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
