// JPEG through libjpeg-turbo: reads any JPEG file as RGB, and writes pictures with their settings.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// Decodes a file in memory: baseline, progressive or arithmetic-coded; grey, YCbCr, RGB, CMYK or YCCK, as
/// Pillow's convert("RGB") does (CMYK without a profile). Texts come from EXIF. `name` is for messages.
/// Throws InputError if it is not a JPEG, truncated or damaged, larger than `max_side`, or claims more
/// pixels than its bytes can hold.
Picture decode_jpeg(std::span<const std::byte> data, const std::filesystem::path& name);

/// The lowest quality without chroma subsampling.
inline constexpr int full_colour_quality = 90;

/// A JPEG file in memory, at a quality of 1 to 100; without chroma subsampling from 90 on. The text
/// "parameters" becomes EXIF's UserComment. Throws InputError if texts are too long for JPEG, and
/// ShapeError as check_pixels does.
std::vector<std::byte> encode_jpeg(const Image& image, std::span<const Text> texts, int quality);

}  // namespace precast::image
