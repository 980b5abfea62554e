// The cases of convolution.
#pragma once

#include <support/products.hpp>

namespace precast::testing {

/// {batch, height, width, channels, features, kernel height and width, stride, padding at top, left, bottom,
/// right}
inline constexpr ConvCase conv_cases[] = {
    // Nothing; one pixel.
    {0, 8, 8, 4, 5, 3, 3, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1},
    {2, 1, 1, 3, 5, 3, 3, 2, 1, 1, 1, 1},
    {1, 1, 1, 17, 3, 1, 1},
    // As the networks have them: 3 x 3 with a border, 1 x 1, and a VAE's step down, which pads right and
    // bottom only; channels around vectors, features around tiles.
    {2, 5, 3, 3, 5, 3, 3, 1, 1, 1, 1, 1},
    {2, 5, 3, 4, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 5, 7, 7, 9, 3, 3, 1, 1, 1, 1, 1},
    {1, 5, 7, 8, 63, 3, 3, 1, 1, 1, 1, 1},
    {1, 5, 7, 9, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 9, 11, 16, 65, 3, 3, 1, 1, 1, 1, 1},
    {1, 4, 4, 32, 4, 3, 3, 1, 1, 1, 1, 1},
    {1, 8, 8, 5, 128, 3, 3, 1, 1, 1, 1, 1},
    {1, 7, 9, 5, 129, 3, 3, 1, 1, 1, 1, 1},
    {2, 9, 9, 50, 9, 1, 1},
    {1, 6, 7, 9, 12, 1, 1},
    {1, 6, 7, 24, 9, 1, 1, 2},
    {2, 8, 6, 16, 8, 3, 3, 2, 0, 0, 1, 1},
    {2, 5, 7, 5, 5, 3, 3, 2, 0, 0, 1, 1},
    {1, 9, 11, 16, 33, 3, 3, 2, 1, 1, 1, 1},
    // Unevenly.
    {1, 7, 9, 17, 3, 2, 5, 1, 0, 3, 1, 2},
    {1, 7, 9, 8, 3, 2, 5, 2, 0, 3, 1, 2},
    {2, 6, 5, 5, 64, 3, 3, 1, 1, 0, 1, 1},
    // On both sides of the sizes at which the host changes over, and several tiles of pixels.
    {1, 31, 33, 3, 5, 3, 3, 1, 1, 1, 1, 1},
    {1, 34, 35, 4, 8, 3, 3, 1, 1, 1, 1, 1},
    {1, 34, 35, 4, 9, 3, 3, 2, 1, 1, 1, 1},
    {1, 31, 33, 17, 3, 1, 1},
    {1, 45, 47, 16, 65, 3, 3, 1, 1, 1, 1, 1},
    {1, 45, 47, 17, 3, 3, 3, 2, 1, 1, 1, 1},
    {1, 46, 51, 5, 128, 2, 5, 1, 0, 3, 1, 2},
    {2, 35, 37, 4, 64, 3, 3, 2, 0, 0, 1, 1},
    {2, 90, 31, 19, 70, 3, 3, 1, 1, 1, 1, 1},
    // Packed weights that lie as oneDNN wants them for bands.
    {1, 33, 35, 32, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 69, 67, 32, 128, 3, 3, 2, 0, 0, 1, 1},
    // And one of features in blocks that are no panels.
    {1, 33, 35, 32, 384, 3, 3, 1, 1, 1, 1, 1},
};

}  // namespace precast::testing
