// Converts pictures between 8-bit RGB and tensors in [-1, 1] for a VAE.
#pragma once

#include <cstdint>
#include <vector>

#include <image/image.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::image {

/// A picture as [1, height, width, 3]: each value divided by 255, times 2, minus 1, all in f32, as in
/// diffusers' VaeImageProcessor. Throws ShapeError as check_pixels does.
Tensor<f32> to_tensor(const Image& image);

/// Pictures converted from a tensor.
struct Pictures {
  std::vector<Image> images;
  std::int64_t nan = 0;  ///< number of NaN values, which became 0
};

/// Pictures from [n, height, width, 3]: halved, plus 1/2, clamped to [0, 1], times 255, rounded to nearest
/// even. NaN becomes 0, black. Throws ShapeError for other shapes.
Pictures to_images(HostView<const f32> values);

}  // namespace precast::image
