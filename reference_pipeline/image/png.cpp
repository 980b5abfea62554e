#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <image/png.hpp>
#include <png.h>
#include <utf8proc.h>

#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::image {
namespace {

constexpr std::size_t signature_bytes = 8;

/// What libpng's callbacks see. libpng leaves a failing call by longjmp, which runs no destructors: the
/// message has to be plain memory, and lies outside of what is jumped over.
struct Callbacks {
  std::array<char, 160> message{};
  std::span<const std::byte> unread;
  std::vector<std::byte> written;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& callbacks = *static_cast<Callbacks*>(png_get_error_ptr(png));
  std::strncpy(callbacks.message.data(), message, callbacks.message.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, std::size_t count) {
  auto& unread = static_cast<Callbacks*>(png_get_io_ptr(png))->unread;
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
  if (!append(static_cast<Callbacks*>(png_get_io_ptr(png))->written, data, count))
    png_error(png, "out of memory");
}

void on_flush(png_structp) {}

/// Runs calls to libpng; returns whether they went through. `calls` must own nothing: an error in one of them
/// jumps out of it. The catch of setjmp lives in this frame, which has no destructors either.
template <class Calls>
bool went_through(png_structp png, Calls&& calls) {
  static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Calls>>,
                "what libpng's errors jump over must not own anything");
  if (setjmp(png_jmpbuf(png))) return false;
  calls();
  return true;
}

/// libpng's two structs for reading.
struct Reader {
  Callbacks callbacks;
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(std::span<const std::byte> data) {
    callbacks.unread = data;
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &callbacks, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

/// libpng's two structs for writing.
struct Writer {
  Callbacks callbacks;
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

void append_utf8(std::string& text, std::int32_t point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto count = static_cast<std::size_t>(utf8proc_encode_char(point, bytes.data()));
  text.append(reinterpret_cast<const char*>(bytes.data()), count);
}

/// The code points of a text; a byte that is not part of UTF-8 becomes U+FFFD.
std::vector<std::int32_t> code_points(std::string_view text) {
  std::vector<std::int32_t> result;
  while (!text.empty()) {
    std::int32_t point = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &point);
    result.push_back(length > 0 ? point : 0xfffd);
    text.remove_prefix(length > 0 ? static_cast<std::size_t>(length) : 1);
  }
  return result;
}

std::string utf8_from_latin1(std::string_view text) {
  std::string result;
  for (const char c : text) append_utf8(result, static_cast<unsigned char>(c));
  return result;
}

/// A text as a chunk holds it.
struct ChunkText {
  std::string key;
  std::string value;
  bool is_latin1 = true;
};

ChunkText chunk_text(const PngText& text) {
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

std::vector<PngText> texts_of(const Reader& reader) {
  png_textp texts = nullptr;
  int count = 0;
  png_get_text(reader.png, reader.info, &texts, &count);
  std::vector<PngText> result;
  for (const png_text& text : std::span(texts, static_cast<std::size_t>(count))) {
    const bool is_utf8 =
        text.compression == PNG_ITXT_COMPRESSION_NONE || text.compression == PNG_ITXT_COMPRESSION_zTXt;
    const std::string_view value = text.text ? text.text : "";
    result.push_back({utf8_from_latin1(text.key), is_utf8 ? std::string(value) : utf8_from_latin1(value)});
  }
  return result;
}

}  // namespace

Png decode_png(std::span<const std::byte> data, const std::filesystem::path& name) {
  if (data.size() < signature_bytes ||
      png_sig_cmp(reinterpret_cast<png_const_bytep>(data.data()), 0, signature_bytes))
    throw io::file_error(name, "is not a PNG picture: convert it to PNG first");
  Reader reader(data);
  const png_structp png = reader.png;
  const png_infop info = reader.info;
  if (!info) throw OutOfMemory(io::shown(name) + ": no memory to read the picture");
  const auto run = [&](auto&& calls) {
    if (went_through(png, calls)) return;
    throw io::file_error(
        name, "broken PNG picture (" + io::printable(reader.callbacks.message.data()) + "): get it anew");
  };

  run([&] {
    png_set_read_fn(png, &reader.callbacks, on_read);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);  // the sizes are checked below, with a better message
    png_set_chunk_malloc_max(png, 8'000'000);
    png_set_chunk_cache_max(png, 1000);
    png_read_info(png, info);
  });
  const std::int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (!allowed_size(width, height))
    throw io::file_error(name, "the picture is " + std::to_string(width) + "x" + std::to_string(height) +
                                   " pixels, and sides up to " + std::to_string(max_side) +
                                   " are supported: make it smaller");
  // Deflate shrinks to 1/1032 at best: a file that cannot hold its pixels is refused before they get memory.
  const auto packed_bytes =
      static_cast<std::uint64_t>(png_get_rowbytes(png, info)) * static_cast<std::uint64_t>(height);
  if (packed_bytes / 1032 > data.size())
    throw io::file_error(name, "broken PNG picture (" + std::to_string(data.size()) + " bytes cannot hold " +
                                   std::to_string(width) + "x" + std::to_string(height) +
                                   " pixels): get it anew");

  run([&] {
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  Png result;
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
  return result;
}

Png read_png(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return decode_png(file.bytes(), path);
}

std::vector<std::byte> encode_png(const Image& image, std::span<const PngText> texts) {
  check_pixels(image, "encode_png");
  const std::size_t row_bytes = channels * static_cast<std::size_t>(image.width);
  std::vector<ChunkText> chunks;
  for (const PngText& text : texts) chunks.push_back(chunk_text(text));
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
  const bool done = went_through(png, [&] {
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

void write_png(const std::filesystem::path& path, const Image& image, std::span<const PngText> texts) {
  const std::vector<std::byte> bytes = encode_png(image, texts);
  io::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace precast::image
