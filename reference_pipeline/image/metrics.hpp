// The difference between two pictures.
#pragma once

#include <image/image.hpp>

namespace precast::image {

struct Difference {
  double mse = 0;   ///< mean squared difference of the 8-bit values
  double psnr = 0;  ///< 10 log10(255^2 / mse) in dB; infinity for equal pictures
};

/// Compares two pictures of the same size. Throws ShapeError if the sizes differ.
Difference difference(const Image& a, const Image& b);

/// A picture of the differences.
struct DifferencePicture {
  Image picture;    ///< absolute difference of each value, times `factor`
  int largest = 0;  ///< the largest absolute difference
  int factor = 1;   ///< the largest factor that does not saturate
};

/// The difference of two pictures as a picture. Throws ShapeError if the sizes differ.
DifferencePicture difference_picture(const Image& a, const Image& b);

}  // namespace precast::image
