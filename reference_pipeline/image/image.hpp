// Image: 8-bit RGB pixels, row by row from the top.
#pragma once

#include <cstdint>
#include <vector>

namespace precast::image {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  ///< 3 * width * height values
};

}  // namespace precast::image
