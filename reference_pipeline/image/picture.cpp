// Rotates pictures by EXIF's orientation.
#include <image/picture.hpp>

namespace precast::image {

Image oriented(const Image& image, int orientation) {
  check_pixels(image, "oriented");
  if (orientation <= upright || orientation > 8) return image;
  const bool swaps_sides = orientation >= 5;
  const int width = swaps_sides ? image.height : image.width;
  const int height = swaps_sides ? image.width : image.height;
  // Maps (x, y) of the upright picture to a pixel of the file.
  const bool mirrors_columns = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirrors_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result{width, height, {}};
  result.rgb.reserve(image.rgb.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int from_x = swaps_sides ? y : x, from_y = swaps_sides ? x : y;
      if (mirrors_columns) from_x = image.width - 1 - from_x;
      if (mirrors_rows) from_y = image.height - 1 - from_y;
      const std::uint8_t* pixel = image.rgb.data() + channels * (static_cast<std::size_t>(from_y) *
                                                                     static_cast<std::size_t>(image.width) +
                                                                 static_cast<std::size_t>(from_x));
      result.rgb.insert(result.rgb.end(), pixel, pixel + channels);
    }
  return result;
}

}  // namespace precast::image
