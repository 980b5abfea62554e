// EXIF: the block of tags with texts and an orientation in JPEG and WebP files, and some PNG files.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// The optional prefix of a block.
inline constexpr std::string_view exif_introduction("Exif\0\0", 6);

struct Exif {
  std::optional<int> orientation;  ///< 1 to 8, if the block has one
  /// "parameters" from UserComment; "prompt" and "workflow" from Make and Model, where ComfyUI stores them
  /// in WebP files ("prompt:{…}").
  std::vector<Text> texts;
};

/// Reads a block, with or without its prefix. Damaged entries are skipped: the picture remains
/// usable.
Exif read_exif(std::span<const std::byte> block);

/// The orientation of a picture: that of EXIF, else that of its XMP (XML text, may be empty), else
/// upright.
int orientation_of(const Exif& exif, std::string_view xmp);

/// A block (without prefix) with the text `parameters` as UserComment in UTF-16, as image generators write
/// and read it; and texts with the keys "prompt" and "workflow" as in ComfyUI. Other keys are left out.
/// Empty if no text remains.
std::vector<std::byte> exif_block(std::span<const Text> texts);

}  // namespace precast::image
