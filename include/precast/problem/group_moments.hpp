// GroupMoments: what a group norm knows of each group, as columns of a tensor.
#pragma once

#include <cstdint>

#include <precast/tensor/shape.hpp>

namespace precast {

/// The columns of the moments of a group norm, in f32, which have a row for each group of each image. The
/// mean is mean + rest.
struct GroupMoments {
  enum Column : std::uint8_t {
    mean,
    rest,               ///< of the mean, which one f32 does not hold
    inverse_deviation,  ///< 1 / sqrt(variance + eps)
    variance,
    columns,  ///< how many there are
  };
};

/// Of so many images.
inline Shape group_moments_shape(std::int64_t images, std::int64_t groups) {
  return {images * groups, GroupMoments::columns};
}

}  // namespace precast
