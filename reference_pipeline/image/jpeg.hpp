// JPEG by libjpeg-turbo: any of its files as RGB, and pictures with the settings that made them as JPEG.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// Reads a file in memory: baseline, progressive or arithmetic-coded; grey, YCbCr, RGB, CMYK or YCCK. As
/// Pillow's convert("RGB") does, CMYK without a profile. Texts come from EXIF. `name` is what messages call
/// the data. Throws InputError where it is no JPEG, is cut short or broken, is larger than `max_side`, or
/// claims more pixels than its bytes can hold.
Picture decode_jpeg(std::span<const std::byte> data, const std::filesystem::path& name);

/// Colours are kept at full resolution from this quality on.
inline constexpr int full_colour_quality = 90;

/// A JPEG file in memory, at a quality of 1 to 100; colours are kept at full resolution from 90 on. The text
/// "parameters" becomes EXIF's UserComment. Throws InputError where texts are longer than JPEG allows, and
/// ShapeError as check_pixels does.
std::vector<std::byte> encode_jpeg(const Image& image, std::span<const Text> texts, int quality);

}  // namespace precast::image
