// EXIF: the block of tags in which JPEG and WebP files, and some PNG files, keep texts and an orientation.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// What may stand in front of a block.
inline constexpr std::string_view exif_introduction("Exif\0\0", 6);

struct Exif {
  std::optional<int> orientation;  ///< 1 to 8, where the block says one
  /// "parameters" from UserComment; "prompt" and "workflow" where Make and Model hold them, as ComfyUI writes
  /// them to WebP files ("prompt:{…}").
  std::vector<Text> texts;
};

/// Reads a block, with or without its introduction. What is broken in it is passed over: a picture
/// whose tags are damaged is still a picture.
Exif read_exif(std::span<const std::byte> block);

/// How a picture wants to be turned: as EXIF says, else as the picture's XMP does, a text in XML that may be
/// empty; else upright.
int orientation_of(const Exif& exif, std::string_view xmp);

/// A block (without its introduction) that holds the text `parameters` as UserComment in UTF-16, as programs
/// that generate pictures write and read it; and each other text, where its key is "prompt" or "workflow", as
/// ComfyUI does. Other keys are left out. Empty where nothing is left.
std::vector<std::byte> exif_block(std::span<const Text> texts);

}  // namespace precast::image
