// Image: 8-bit RGB pixels, row by row from the top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <precast/error.hpp>

namespace precast::image {

/// Per pixel: red, green, blue.
inline constexpr std::size_t channels = 3;

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  ///< channels * width * height values

  friend bool operator==(const Image&, const Image&) = default;
};

/// The maximum side of pictures that are read, resized or written.
inline constexpr int max_side = 16384;

/// Whether a picture of this size is allowed.
constexpr bool allowed_size(std::int64_t width, std::int64_t height) {
  return width >= 1 && height >= 1 && width <= max_side && height <= max_side;
}

/// Throws ShapeError if the image is empty, too large, or does not have 3 values per pixel.
inline void check_pixels(const Image& image, const std::string& what) {
  const bool fits = allowed_size(image.width, image.height) &&
                    image.rgb.size() == channels * static_cast<std::size_t>(image.width) *
                                            static_cast<std::size_t>(image.height);
  if (!fits)
    throw ShapeError(what + ": " + std::to_string(image.rgb.size()) + " values are not an RGB picture of " +
                     std::to_string(image.width) + "x" + std::to_string(image.height) + " (sides up to " +
                     std::to_string(max_side) + ")");
}

}  // namespace precast::image
