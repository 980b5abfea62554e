// Picture files of every kind: read by what is in them, written by the end of their name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// The kinds of files that are read and written.
enum class Format : std::uint8_t { png, jpeg, webp };

/// "PNG", "JPEG", "WebP".
std::string_view to_string(Format format);

/// The kind that a name's end asks for: .png, .jpg, .jpeg, .webp, in small letters or capitals; PNG for a
/// name without an end. Throws InputError where it is another, with those that there are.
Format format_of_name(const std::filesystem::path& file);

/// How JPEG and WebP trade size for detail: 1 to 100, where WebP's 100 keeps every pixel. PNG always does.
inline constexpr int usual_quality = 90;

/// Whether first bytes are those of a kind that is read.
bool is_picture(std::span<const std::byte> data);

/// The kind of a file by its first bytes. Throws InputError where it is none that is read.
Format format_of(std::span<const std::byte> data, const std::filesystem::path& name);

/// Reads a picture, upright: the orientation of EXIF or XMP is obeyed. `name` is what messages call the data.
/// Throws InputError where the data are no picture, are broken or cut short, or the picture is larger than
/// max_side or than its bytes can hold; nothing is allocated for such a size.
Picture decode_image(std::span<const std::byte> data, const std::filesystem::path& name);

/// The same from a file. Throws InputError where it cannot be read, too.
Picture read_image(const std::filesystem::path& path);

/// A file in memory. Texts go to PNG's text chunks, or to EXIF. Throws InputError where the format cannot
/// hold the picture or its texts, and ShapeError as check_pixels does.
std::vector<std::byte> encode_image(Format format, const Image& image, std::span<const Text> texts = {},
                                    int quality = usual_quality);

/// How a picture becomes a file.
struct Encoding {
  Format format = Format::png;
  int quality = usual_quality;
};

/// About how many bytes encode_image takes beside the picture while it works, its result among them: measured
/// with libpng 1.6, libjpeg-turbo 2.1 and libwebp 1.2 on pictures of 64 to 2048 pixels a side.
std::int64_t encoding_bytes(const Encoding& encoding, std::int64_t width, std::int64_t height);

/// Writes a file of the kind that its name asks for, whole or not at all. Throws InputError where it cannot
/// be written, and as encode_image does.
void write_image(const std::filesystem::path& path, const Image& image, std::span<const Text> texts = {},
                 int quality = usual_quality);

}  // namespace precast::image
