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

/// Where two pictures differ.
struct DifferencePicture {
  Image picture;    ///< the distance of each value, `factor` times as bright
  int largest = 0;  ///< distance
  int factor = 1;   ///< the largest that leaves no value too bright
};

/// Throws ShapeError where the sizes differ.
DifferencePicture difference_picture(const Image& a, const Image& b);

}  // namespace precast::image
