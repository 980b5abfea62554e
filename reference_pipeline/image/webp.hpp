// WebP through libwebp: reads any still picture as RGB, and writes pictures with their settings.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// The maximum side in pixels.
inline constexpr int longest_side_of_webp = 16383;

/// Decodes a file in memory, lossy or lossless; transparency is dropped, as for PNG. Texts come from EXIF.
/// `name` is for messages. Throws InputError if it is not a WebP, animated, truncated or damaged, or has
/// only a few bytes for many pixels, as a picture with hardly any detail may have.
Picture decode_webp(std::span<const std::byte> data, const std::filesystem::path& name);

/// The quality that is lossless.
inline constexpr int lossless_quality = 100;

/// Encodes a WebP file in memory, at a quality of 1 to 100; 100 is lossless. The text "parameters" becomes
/// EXIF's UserComment. Throws InputError if a side exceeds WebP's 16383, and ShapeError as check_pixels
/// does.
std::vector<std::byte> encode_webp(const Image& image, std::span<const Text> texts, int quality);

}  // namespace precast::image
