#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <image/exif.hpp>
#include <image/file_errors.hpp>
#include <image/library_calls.hpp>
#include <image/png.hpp>
#include <image/unicode.hpp>
#include <png.h>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::image {
namespace {

constexpr std::size_t signature_bytes = 8;

/// The state of libpng's callbacks. libpng reports errors by longjmp, which runs no destructors: the
/// message is plain memory, and lives outside the frames that are skipped.
struct PngCallbacks {
  std::array<char, 160> message{};
  std::span<const std::byte> unread;
  std::vector<std::byte> written;
  std::size_t taken = 0;  ///< memory for a file's texts in libpng
  bool has_taken_most = false;
};

/// Far more than a picture's settings: rejects 1000 chunks of 8 MB, to which 8 MB can expand.
constexpr std::size_t most_memory = std::size_t{64} << 20;

png_voidp on_malloc(png_structp png, png_alloc_size_t bytes) {
  auto& callbacks = *static_cast<PngCallbacks*>(png_get_mem_ptr(png));
  callbacks.taken += bytes;
  if (callbacks.taken <= most_memory) return std::malloc(bytes);
  callbacks.has_taken_most = true;
  return nullptr;
}

void on_free(png_structp, png_voidp block) { std::free(block); }

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& callbacks = *static_cast<PngCallbacks*>(png_get_error_ptr(png));
  std::strncpy(callbacks.message.data(), message, callbacks.message.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, std::size_t count) {
  auto& unread = static_cast<PngCallbacks*>(png_get_io_ptr(png))->unread;
  if (count > unread.size()) png_error(png, "the file ends too early");
  std::memcpy(target, unread.data(), count);
  unread = unread.subspan(count);
}

bool append(std::vector<std::byte>& bytes, png_const_bytep data, std::size_t count) noexcept try {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + count);
  return true;
} catch (...) {
  return false;
}

void on_write(png_structp png, png_bytep data, std::size_t count) {
  if (!append(static_cast<PngCallbacks*>(png_get_io_ptr(png))->written, data, count))
    png_error(png, "out of memory");
}

void on_flush(png_structp) {}

/// libpng's two structs for decoding.
struct Reader {
  PngCallbacks callbacks;
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(std::span<const std::byte> data) {
    callbacks.unread = data;
    png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &callbacks, on_error, on_warning, &callbacks,
                                   on_malloc, on_free);
    if (png) info = png_create_info_struct(png);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

/// libpng's two structs for encoding.
struct Writer {
  PngCallbacks callbacks;
  png_structp png = nullptr;
  png_infop info = nullptr;

  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &callbacks, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

/// A text as a PNG chunk.
struct ChunkText {
  std::string key;
  std::string value;
  bool is_latin1 = true;
};

ChunkText chunk_text(const Text& text) {
  const bool allowed = !text.key.empty() && text.key.size() < 80 &&
                       std::ranges::all_of(text.key, [](char c) { return c > ' ' && c <= '~'; });
  if (!allowed)
    throw InputError("a PNG text's key is '" + io::printable(text.key) +
                     "': it must be 1 to 79 ASCII letters, digits or signs");
  std::vector<std::int32_t> points = code_points(text.value);
  std::ranges::replace(points, 0, int{' '});
  ChunkText result{text.key, "",
                   std::ranges::all_of(points, [](std::int32_t point) { return point < 0x100; })};
  for (const std::int32_t point : points) {
    if (result.is_latin1)
      result.value += static_cast<char>(static_cast<unsigned char>(point));
    else
      append_utf8(result.value, point);
  }
  return result;
}

std::vector<Text> texts_of(const Reader& reader) {
  png_textp texts = nullptr;
  int count = 0;
  png_get_text(reader.png, reader.info, &texts, &count);
  std::vector<Text> result;
  for (const png_text& text : std::span(texts, static_cast<std::size_t>(count))) {
    const bool is_utf8 =
        text.compression == PNG_ITXT_COMPRESSION_NONE || text.compression == PNG_ITXT_COMPRESSION_zTXt;
    const std::string_view value = text.text ? text.text : "";
    result.push_back({utf8_from_latin1(text.key), is_utf8 ? std::string(value) : utf8_from_latin1(value)});
  }
  return result;
}

}  // namespace

Picture decode_png(std::span<const std::byte> data, const std::filesystem::path& name) {
  if (data.size() < signature_bytes ||
      png_sig_cmp(reinterpret_cast<png_const_bytep>(data.data()), 0, signature_bytes))
    throw io::file_error(name, "is not a PNG picture: convert it to PNG first");
  Reader reader(data);
  const png_structp png = reader.png;
  const png_infop info = reader.info;
  if (!info) throw OutOfMemory(io::shown(name) + ": no memory to read the picture");
  const auto run = [&](auto&& calls) {
    const bool succeeded = succeeds(png_jmpbuf(png), calls);
    if (reader.callbacks.has_taken_most)
      throw io::file_error(name, "holds texts of more than " +
                                     in_bytes(static_cast<std::int64_t>(most_memory)) +
                                     ": save the picture again without them");
    if (succeeded) return;
    throw io::file_error(
        name, "broken PNG picture (" + io::printable(reader.callbacks.message.data()) + "): get it again");
  };

  run([&] {
    png_set_read_fn(png, &reader.callbacks, on_read);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);  // the size is checked below, with a better message
    png_set_chunk_malloc_max(png, 8'000'000);
    png_set_chunk_cache_max(png, 1000);
    png_read_info(png, info);
  });
  const std::int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (!allowed_size(width, height)) throw too_large(name, width, height);
  // Deflate's best ratio is 1032: a file too small for its pixels is rejected before they are allocated.
  const auto packed_bytes =
      static_cast<std::uint64_t>(png_get_rowbytes(png, info)) * static_cast<std::uint64_t>(height);
  if (packed_bytes / 1032 > data.size()) throw cannot_hold(name, "PNG", data.size(), width, height);

  run([&] {
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  Picture result;
  result.image.width = static_cast<int>(width);
  result.image.height = static_cast<int>(height);
  const std::size_t row_bytes = channels * static_cast<std::size_t>(width);
  if (png_get_rowbytes(png, info) != row_bytes)
    throw io::file_error(
        name, "a PNG picture of a kind that libpng does not turn into RGB: convert it to 8-bit RGB");
  result.image.rgb.resize(row_bytes * static_cast<std::size_t>(height));
  std::vector<png_bytep> rows(static_cast<std::size_t>(height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = result.image.rgb.data() + y * row_bytes;
  run([&] {
    png_read_image(png, rows.data());
    png_read_end(png, info);
  });
  result.texts = texts_of(reader);
  png_bytep exif = nullptr;
  png_uint_32 exif_bytes = 0;
  if (png_get_eXIf_1(png, info, &exif_bytes, &exif) == 0) exif_bytes = 0;
  const auto xmp = std::ranges::find(result.texts, "XML:com.adobe.xmp", &Text::key);
  result.orientation = orientation_of(read_exif(std::as_bytes(std::span(exif, exif_bytes))),
                                      xmp == result.texts.end() ? std::string_view() : xmp->value);
  return result;
}

std::vector<std::byte> encode_png(const Image& image, std::span<const Text> texts) {
  check_pixels(image, "encode_png");
  const std::size_t row_bytes = channels * static_cast<std::size_t>(image.width);
  std::vector<ChunkText> chunks;
  for (const Text& text : texts) chunks.push_back(chunk_text(text));
  std::vector<png_text> entries;
  for (ChunkText& chunk : chunks) {
    png_text entry{};
    entry.compression = chunk.is_latin1 ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    entry.key = chunk.key.data();
    entry.text = chunk.value.data();
    entries.push_back(entry);
  }

  Writer writer;
  const png_structp png = writer.png;
  const png_infop info = writer.info;
  if (!info) throw OutOfMemory("no memory to write a PNG picture");
  // Reserved at once: a growing vector would take up to three times as much.
  writer.callbacks.written.reserve(static_cast<std::size_t>(image.height) * (row_bytes + 1));
  const bool done = succeeds(png_jmpbuf(png), [&] {
    png_set_write_fn(png, &writer.callbacks, on_write, on_flush);
    png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_text(png, info, entries.data(), static_cast<int>(entries.size()));
    png_write_info(png, info);
    for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y)
      png_write_row(png, image.rgb.data() + y * row_bytes);
    png_write_end(png, info);
  });
  if (!done)
    throw Error(std::string("a PNG picture could not be encoded: ") + writer.callbacks.message.data());
  return std::move(writer.callbacks.written);
}

}  // namespace precast::image
