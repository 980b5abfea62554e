// Pictures as tensors: 8-bit RGB to the values between -1 and 1 that a VAE takes and gives, and back.
#pragma once

#include <cstdint>
#include <vector>

#include <image/image.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::image {

/// A picture as [1, height, width, 3]: each value divided by 255, doubled, less 1, all in f32, as diffusers'
/// VaeImageProcessor does. Throws ShapeError as check_pixels does.
Tensor<f32> to_tensor(const Image& image);

/// Pictures made from a tensor.
struct Pictures {
  std::vector<Image> images;
  std::int64_t nan = 0;  ///< values that were NaN and became 0
};

/// Pictures from [n, height, width, 3]: halved, plus 1/2, clamped to [0, 1], times 255, rounded with ties to
/// even. NaN becomes 0, which is black. Throws ShapeError for other shapes.
Pictures to_images(HostView<const f32> values);

}  // namespace precast::image
