// Resizing pictures with Lanczos' filter, to the pixel as Pillow does it.
#pragma once

#include <cstdint>

#include <image/image.hpp>

namespace precast::image {

/// The picture at another size: Lanczos' filter with three lobes, stretched where the picture shrinks, in the
/// 8-bit fixed point of Pillow 13's Image.resize((width, height), LANCZOS), whose every byte it gives. Throws
/// InputError for sides outside of 1 to max_side, ShapeError as check_pixels does.
Image resize(const Image& image, int width, int height);

/// Bytes that `resize` takes beside its input, for its result and for what it makes on the way.
std::int64_t resize_memory(const Image& image, int width, int height);

}  // namespace precast::image
