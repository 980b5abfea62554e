// Chooses the codec of a picture file.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include <image/jpeg.hpp>
#include <image/picture_file.hpp>
#include <image/png.hpp>
#include <image/webp.hpp>

#include <precast/dtype/host_device.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/suffix.hpp>

namespace precast::image {
namespace {

bool begins(std::span<const std::byte> data, std::string_view with, std::size_t at = 0) {
  return data.size() >= at + with.size() && std::memcmp(data.data() + at, with.data(), with.size()) == 0;
}

std::optional<Format> format_by_bytes(std::span<const std::byte> data) {
  if (begins(data, "\x89PNG\r\n\x1a\n")) return Format::png;
  if (begins(data, "\xff\xd8\xff")) return Format::jpeg;
  if (begins(data, "RIFF") && begins(data, "WEBP", 8)) return Format::webp;
  return std::nullopt;
}

/// The memory of libwebp's lossless encoder: values and the matches between them, and symbol counts for
/// each tile. Tiles are the smallest ones of which there are at most `most_tiles`.
std::int64_t lossless_webp_bytes(std::int64_t width, std::int64_t height) {
  constexpr std::int64_t most_tiles = 2600, bytes_of_pixel = 28, bytes_of_tile = 9000;
  std::int64_t side = 8, tiles = 0;
  const auto across = [&](std::int64_t length) { return ceil_divide(length, side); };
  while ((tiles = across(width) * across(height)) > most_tiles) side *= 2;
  return bytes_of_pixel * width * height + bytes_of_tile * tiles;
}

}  // namespace

std::string_view to_string(Format format) {
  return format == Format::png ? "PNG" : format == Format::jpeg ? "JPEG" : "WebP";
}

Format format_of_name(const std::filesystem::path& file) {
  const std::string end = io::suffix_of(file);
  if (end.empty() || end == ".png") return Format::png;
  if (end == ".jpg" || end == ".jpeg") return Format::jpeg;
  if (end == ".webp") return Format::webp;
  throw io::file_error(file, "pictures are not written as '" + io::printable(file.extension().string()) +
                                 "': name it .png, .jpg, .jpeg or .webp");
}

bool is_picture(std::span<const std::byte> data) { return format_by_bytes(data).has_value(); }

Format format_of(std::span<const std::byte> data, const std::filesystem::path& name) {
  if (const auto format = format_by_bytes(data)) return *format;
  throw io::file_error(name, data.empty()
                                 ? "is empty: get it again"
                                 : "is not a PNG, JPEG or WebP picture: convert it to one of these first");
}

Picture decode_image(std::span<const std::byte> data, const std::filesystem::path& name) {
  const Format format = format_of(data, name);
  Picture picture = format == Format::png    ? decode_png(data, name)
                    : format == Format::jpeg ? decode_jpeg(data, name)
                                             : decode_webp(data, name);
  if (picture.orientation != upright)
    picture.image = oriented(picture.image, std::exchange(picture.orientation, upright));
  return picture;
}

Picture read_image(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return decode_image(file.bytes(), path);
}

std::vector<std::byte> encode_image(Format format, const Image& image, std::span<const Text> texts,
                                    int quality) {
  switch (format) {
    case Format::jpeg:
      return encode_jpeg(image, texts, quality);
    case Format::webp:
      return encode_webp(image, texts, quality);
    case Format::png:
      break;
  }
  return encode_png(image, texts);
}

std::int64_t encoding_bytes(const Encoding& encoding, std::int64_t width, std::int64_t height) {
  constexpr std::int64_t always = 500'000;
  const std::int64_t pixels = width * height;
  switch (encoding.format) {
    case Format::jpeg:  // 16-bit coefficients, for optimised Huffman codes
      return always + pixels * (encoding.quality >= full_colour_quality ? 6 : 3);
    case Format::webp:
      return always +
             (encoding.quality >= lossless_quality ? lossless_webp_bytes(width, height) : 13 * pixels);
    case Format::png:  // noise is incompressible
      break;
  }
  return always + 3 * pixels;
}

void write_image(const std::filesystem::path& path, const Image& image, std::span<const Text> texts,
                 int quality) {
  const std::vector<std::byte> bytes = encode_image(format_of_name(path), image, texts, quality);
  io::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace precast::image
