// PNG: any of its files as RGB, and pictures with the settings that made them as PNG.
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

/// A PNG file in memory, 8-bit RGB. Texts that Latin-1 can write become tEXt chunks, others iTXt (UTF-8), as
/// Pillow and the programs that build on it write and read them; bytes that are not UTF-8 become U+FFFD, and
/// NUL a space. Throws InputError for a key that PNG does not allow, ShapeError as check_pixels does.
std::vector<std::byte> encode_png(const Image& image, std::span<const Text> texts = {});

}  // namespace precast::image
