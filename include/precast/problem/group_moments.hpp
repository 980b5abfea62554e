// GroupMoments: the moments of each group of a group norm, as columns of a tensor.
#pragma once

#include <cstdint>

#include <precast/tensor/shape.hpp>

namespace precast {

/// The columns of the f32 moments of a group norm, which have a row for each group of each image. The mean
/// is mean + rest.
struct GroupMoments {
  enum Column : std::uint8_t {
    mean,
    rest,               ///< the part of the mean that one f32 cannot hold
    inverse_deviation,  ///< 1 / sqrt(variance + eps)
    variance,
    columns,  ///< the number of columns
  };
};

/// The shape of the moments, [images * groups, columns].
inline Shape group_moments_shape(std::int64_t images, std::int64_t groups) {
  return {images * groups, GroupMoments::columns};
}

}  // namespace precast
