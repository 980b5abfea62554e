// Picture files of every format: read by content, written by the suffix of their name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include <image/picture.hpp>

namespace precast::image {

/// The file formats that are read and written.
enum class Format : std::uint8_t { png, jpeg, webp };

/// "PNG", "JPEG", "WebP".
std::string_view to_string(Format format);

/// The format of a file name's suffix: .png, .jpg, .jpeg, .webp, in either case; PNG without a suffix.
/// Throws InputError for other suffixes, with the supported ones.
Format format_of_name(const std::filesystem::path& file);

/// The quality of JPEG and WebP: 1 to 100, where 100 is lossless for WebP. PNG is always lossless.
inline constexpr int usual_quality = 90;

/// Whether the first bytes of data are those of a supported format.
bool is_picture(std::span<const std::byte> data);

/// The format of a file by its first bytes. Throws InputError if it is not supported.
Format format_of(std::span<const std::byte> data, const std::filesystem::path& name);

/// Decodes a picture into upright orientation (EXIF or XMP). `name` is for messages. Throws InputError if
/// the data is not a picture, damaged or truncated, or if the picture is larger than max_side or than its
/// bytes can hold; no memory is allocated for pixels of such a picture.
Picture decode_image(std::span<const std::byte> data, const std::filesystem::path& name);

/// The same for a file. Also throws InputError if it cannot be read.
Picture read_image(const std::filesystem::path& path);

/// Encodes a file in memory. Texts become PNG text chunks or EXIF. Throws InputError if the format cannot
/// hold the picture or its texts, and ShapeError as check_pixels does.
std::vector<std::byte> encode_image(Format format, const Image& image, std::span<const Text> texts = {},
                                    int quality = usual_quality);

/// The format and quality of a file.
struct Encoding {
  Format format = Format::png;
  int quality = usual_quality;
};

/// Approximate memory of encode_image besides the picture, including its result: measured with libpng 1.6,
/// libjpeg-turbo 2.1 and libwebp 1.2 on pictures with sides of 64 to 2048 pixels.
std::int64_t encoding_bytes(const Encoding& encoding, std::int64_t width, std::int64_t height);

/// Writes a file in the format of its suffix, atomically. Throws InputError if it cannot be written, and
/// what encode_image throws.
void write_image(const std::filesystem::path& path, const Image& image, std::span<const Text> texts = {},
                 int quality = usual_quality);

}  // namespace precast::image
