// Picture: the contents of a picture file: pixels, texts, and orientation.
#pragma once

#include <string>
#include <vector>

#include <image/image.hpp>

namespace precast::image {

/// A text in a picture file, key and value in UTF-8. Image generators store prompt and settings under the
/// key "parameters".
struct Text {
  std::string key;
  std::string value;

  friend bool operator==(const Text&, const Text&) = default;
};

/// EXIF's orientations: 1 is upright as stored, 2 to 8 are rotated or mirrored.
inline constexpr int upright = 1;

struct Picture {
  Image image;
  std::vector<Text> texts;
  int orientation = upright;  ///< from EXIF or XMP; upright in results of `read_image`
};

/// The picture in upright orientation, from EXIF's orientation 1 to 8; 5 to 8 swap its sides.
Image oriented(const Image& image, int orientation);

}  // namespace precast::image
