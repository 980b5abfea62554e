// Valid ranges of a picture's settings, for every reader: a request, the command line, or the settings
// stored in a picture.
#pragma once

#include <image/image.hpp>

namespace precast::families {

inline constexpr int largest_side = image::max_side, most_steps = 10000, most_pictures = 1024,
                     most_clip_layers = 100;

/// The least and the largest value of a setting.
struct Range {
  double least, most;
};
inline constexpr Range guidance_range{0, 1000}, cfg_range{1, 1000}, aesthetic_range{0, 100};
/// The range of fractions: strength, eta, guidance rescale.
inline constexpr Range part_range{0, 1};

}  // namespace precast::families
