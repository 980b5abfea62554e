// PNG files: reading any of them as RGB, and writing pictures with the settings that made them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <image/image.hpp>

namespace precast::image {

/// A text in a PNG file, both parts UTF-8. Programs that generate pictures keep prompt and settings under the
/// key "parameters".
struct PngText {
  std::string key;
  std::string value;

  friend bool operator==(const PngText&, const PngText&) = default;
};

struct Png {
  Image image;
  std::vector<PngText> texts;
};

/// Reads a file of any PNG colour type and depth. As Pillow's convert("RGB") does: grey becomes three equal
/// channels, palettes are looked up, transparency and colour profiles are dropped, 16 bits keep their upper 8
/// (in grey too, which Pillow clips to white). Throws InputError where the file is missing, is no PNG, is cut
/// short or broken, or is larger than `max_side`.
Png read_png(const std::filesystem::path& path);

/// The same from memory; `name` is what messages call the data.
Png decode_png(std::span<const std::byte> data, const std::filesystem::path& name);

/// A PNG file in memory, 8-bit RGB. Texts that Latin-1 can write become tEXt chunks, others iTXt (UTF-8), as
/// Pillow and the programs that build on it write and read them; bytes that are not UTF-8 become U+FFFD, and
/// NUL a space. Throws InputError for a key that PNG does not allow, ShapeError as check_pixels does.
std::vector<std::byte> encode_png(const Image& image, std::span<const PngText> texts = {});

/// Writes a PNG file, whole or not at all. Throws InputError where it cannot be written.
void write_png(const std::filesystem::path& path, const Image& image, std::span<const PngText> texts = {});

}  // namespace precast::image
