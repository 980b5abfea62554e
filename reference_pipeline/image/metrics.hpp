// How far two pictures are apart.
#pragma once

#include <image/image.hpp>

namespace precast::image {

struct Difference {
  double mse = 0;   ///< mean squared difference of the 8-bit values
  double psnr = 0;  ///< 10 log10(255^2 / mse) in dB; infinity for equal pictures
};

/// Compares two pictures of the same size. Throws ShapeError where the sizes differ.
Difference difference(const Image& a, const Image& b);

}  // namespace precast::image
