// Resizes pictures with the Lanczos filter, bit-identical to Pillow.
#pragma once

#include <cstdint>

#include <image/image.hpp>

namespace precast::image {

/// The picture at another size: a Lanczos filter with three lobes, widened for downscaling, in the 8-bit
/// fixed point of Pillow 13's Image.resize((width, height), LANCZOS), and bit-identical to it. Throws
/// InputError for sides outside [1, max_side], and ShapeError as check_pixels does.
Image resize(const Image& image, int width, int height);

/// Bytes that `resize` allocates for its result and intermediate pictures, without its input.
std::int64_t resize_memory(const Image& image, int width, int height);

}  // namespace precast::image
