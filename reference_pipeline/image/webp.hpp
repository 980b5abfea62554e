// WebP by libwebp: any still picture as RGB, and pictures with the settings that made them as WebP.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// Pixels of a side, at most.
inline constexpr int longest_side_of_webp = 16383;

/// Reads a file in memory, lossy or lossless; transparency is dropped, as PNG's is. Texts come from EXIF.
/// `name` is what messages call the data. Throws InputError where it is no WebP, is an animation, is cut
/// short or broken, or is a few bytes that claim many pixels, which only a picture of hardly any detail has.
Picture decode_webp(std::span<const std::byte> data, const std::filesystem::path& name);

/// Every pixel is kept at this quality.
inline constexpr int lossless_quality = 100;

/// A WebP file in memory, at a quality of 1 to 100; 100 keeps every pixel. The text "parameters" becomes
/// EXIF's UserComment. Throws InputError where a side is longer than WebP's 16383, ShapeError as check_pixels
/// does.
std::vector<std::byte> encode_webp(const Image& image, std::span<const Text> texts, int quality);

}  // namespace precast::image
