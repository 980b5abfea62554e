// PNG through libpng: reads any PNG file as RGB, and writes pictures with their settings.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// Reads a file in memory, of any PNG colour type and depth; `name` is what messages call it. As Pillow's
/// convert("RGB") does: grey becomes three equal channels, palettes are looked up, transparency and colour
/// profiles are dropped, 16 bits keep their upper 8 (in grey too, which Pillow clips to white). Throws
/// InputError where it is no PNG, is cut short or broken, or is larger than `max_side`.
Picture decode_png(std::span<const std::byte> data, const std::filesystem::path& name);

/// Encodes a PNG file in memory, 8-bit RGB. Texts in Latin-1 become tEXt chunks, others iTXt (UTF-8), as in
/// Pillow and programs based on it; invalid UTF-8 becomes U+FFFD, and NUL a space. Throws InputError for a
/// key that PNG does not allow, and ShapeError as check_pixels does.
std::vector<std::byte> encode_png(const Image& image, std::span<const Text> texts = {});

}  // namespace precast::image
