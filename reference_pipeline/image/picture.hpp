// Picture: what a picture file holds: pixels, texts, and how it wants to be turned.
#pragma once

#include <string>
#include <vector>

#include <image/image.hpp>

namespace precast::image {

/// A text in a picture file, both parts UTF-8. Programs that generate pictures keep prompt and settings under
/// the key "parameters".
struct Text {
  std::string key;
  std::string value;

  friend bool operator==(const Text&, const Text&) = default;
};

/// Turns and mirrors that EXIF knows: 1 shows the pixels as they lie, 2 to 8 are the others.
inline constexpr int upright = 1;

struct Picture {
  Image image;
  std::vector<Text> texts;
  int orientation = upright;  ///< as EXIF or XMP says; what `read_image` gives is upright already
};

/// The picture as EXIF's orientation 1 to 8 says that it is to be shown; 5 to 8 swap its sides.
Image oriented(const Image& image, int orientation);

}  // namespace precast::image
