#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <jpeglib.h>
// jpeglib.h must come first: it declares the types of the message codes.
#include <image/exif.hpp>
#include <image/file_errors.hpp>
#include <image/jpeg.hpp>
#include <image/library_calls.hpp>
#include <jerror.h>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::image {
namespace {

constexpr int exif_marker = JPEG_APP0 + 1;
constexpr std::string_view xmp_introduction("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::size_t longest_marker = 65533;  // maximum bytes of a marker
constexpr std::size_t longest_text_of_jpeg = 32000;
constexpr int most_scans = 500;  // a progressive file has about ten; each takes time for the whole picture

/// The state of libjpeg's callbacks. The error manager comes first, so that pointers to both are equal.
struct JpegCallbacks {
  jpeg_error_mgr manager;
  std::jmp_buf place;
  std::array<char, JMSG_LENGTH_MAX> message{};
};

[[noreturn]] void on_jpeg_error(j_common_ptr jpeg) {
  auto* callbacks = reinterpret_cast<JpegCallbacks*>(jpeg->err);
  callbacks->manager.format_message(jpeg, callbacks->message.data());
  std::longjmp(callbacks->place, 1);
}

/// Treats warnings of missing pixels as errors, as for PNG.
void on_jpeg_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      on_jpeg_error(jpeg);
    default:
      return;  // such as bytes between two markers
  }
}

void on_jpeg_progress(j_common_ptr jpeg) {
  if (jpeg->is_decompressor && reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > most_scans)
    ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

jpeg_error_mgr* prepared(JpegCallbacks& callbacks) {
  jpeg_std_error(&callbacks.manager);
  callbacks.manager.error_exit = on_jpeg_error;
  callbacks.manager.emit_message = on_jpeg_message;
  return &callbacks.manager;
}

/// libjpeg's decompression struct.
struct JpegReader {
  JpegCallbacks callbacks;
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};

  JpegReader() { jpeg.err = prepared(callbacks); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
};

/// libjpeg's compression struct, and its output buffer.
struct JpegWriter {
  JpegCallbacks callbacks;
  jpeg_compress_struct jpeg{};
  unsigned char* written = nullptr;
  unsigned long written_bytes = 0;

  JpegWriter() { jpeg.err = prepared(callbacks); }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    jpeg_destroy_compress(&jpeg);
    std::free(written);
  }
};

/// A lower bound on the bytes of a file with that many pixels. Huffman codes take at least a bit per block
/// in every mode; the largest component has a block per 8x8 pixels, or a quarter of that if no component is
/// the largest in both directions; arithmetic codes may take a hundredth of a bit.
std::uint64_t fewest_bytes(const jpeg_decompress_struct& jpeg) {
  const std::uint64_t blocks = std::uint64_t{(jpeg.image_width + 7) / 8} * ((jpeg.image_height + 7) / 8);
  return blocks / 4 / 8 / (jpeg.arith_code ? 100 : 1);
}

std::uint8_t product(unsigned a, unsigned b) {  // of fractions of 255, rounded
  const unsigned sum = a * b + 128;
  return static_cast<std::uint8_t>((sum + (sum >> 8)) >> 8);
}

/// Converts a row from CMYK, 4 values per pixel, to RGB, 3 per pixel, in place. Values are 255 minus the
/// ink, as Adobe's programs store them, and other programs with or without Adobe's marker.
void rgb_from_cmyk(std::uint8_t* row, std::size_t pixels) {
  const std::uint8_t* from = row;
  for (std::size_t i = 0; i < pixels; ++i, from += 4) {
    const unsigned white = from[3];
    const std::array<unsigned, 3> inks{255u - from[0], 255u - from[1], 255u - from[2]};
    for (const unsigned ink : inks) *row++ = static_cast<std::uint8_t>(white - product(ink, white));
  }
}

/// Reads orientation and texts from the markers, which libjpeg keeps until the picture is read.
void read_tags(const jpeg_decompress_struct& jpeg, Picture& result) {
  const auto behind = [&](std::string_view introduction) -> std::string_view {
    for (jpeg_saved_marker_ptr marker = jpeg.marker_list; marker; marker = marker->next) {
      const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (text.starts_with(introduction)) return text.substr(introduction.size());
    }
    return {};
  };
  Exif exif = read_exif(std::as_bytes(std::span(behind(exif_introduction))));
  result.orientation = orientation_of(exif, behind(xmp_introduction));
  result.texts = std::move(exif.texts);
}

}  // namespace

Picture decode_jpeg(std::span<const std::byte> data, const std::filesystem::path& name) {
  const auto reader = std::make_unique<JpegReader>();
  jpeg_decompress_struct& jpeg = reader->jpeg;
  const auto run = [&](auto&& calls) {
    if (succeeds(reader->callbacks.place, calls)) return;
    throw io::file_error(
        name, "broken JPEG picture (" + io::printable(reader->callbacks.message.data()) + "): get it again");
  };
  run([&] {
    jpeg_create_decompress(&jpeg);
    reader->progress.progress_monitor = on_jpeg_progress;
    jpeg.progress = &reader->progress;
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(data.data()),
                 static_cast<unsigned long>(data.size()));
    jpeg_save_markers(&jpeg, exif_marker, longest_marker + 2);
    jpeg_read_header(&jpeg, TRUE);
  });
  if (!allowed_size(jpeg.image_width, jpeg.image_height))
    throw too_large(name, jpeg.image_width, jpeg.image_height);
  if (fewest_bytes(jpeg) > data.size())
    throw cannot_hold(name, "JPEG", data.size(), jpeg.image_width, jpeg.image_height);

  const bool four_colours = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  const std::size_t width = jpeg.image_width, height = jpeg.image_height;
  Picture result;
  read_tags(jpeg, result);
  result.image.width = static_cast<int>(width);
  result.image.height = static_cast<int>(height);
  result.image.rgb.resize(channels * width * height);
  std::vector<std::uint8_t> inks(four_colours ? 4 * width : 0);
  std::uint8_t* const pixels = result.image.rgb.data();
  std::uint8_t* const ink_row = inks.data();
  run([&] {
    jpeg.out_color_space = four_colours ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      std::uint8_t* const target = pixels + channels * width * jpeg.output_scanline;
      JSAMPROW row = four_colours ? ink_row : target;
      if (jpeg_read_scanlines(&jpeg, &row, 1) != 1) break;
      if (!four_colours) continue;
      rgb_from_cmyk(ink_row, width);
      std::copy_n(ink_row, channels * width, target);
    }
    jpeg_finish_decompress(&jpeg);
  });
  return result;
}

std::vector<std::byte> encode_jpeg(const Image& image, std::span<const Text> texts, int quality) {
  check_pixels(image, "encode_jpeg");
  std::vector<std::byte> exif = exif_block(texts);
  if (!exif.empty()) {
    const auto bytes = std::as_bytes(std::span(exif_introduction));
    exif.insert(exif.begin(), bytes.begin(), bytes.end());
  }
  if (exif.size() > longest_marker)
    throw InputError("a JPEG picture's text cannot be longer than " + std::to_string(longest_text_of_jpeg) +
                     " characters: write PNG or WebP, or give a shorter prompt");
  const auto writer = std::make_unique<JpegWriter>();
  jpeg_compress_struct& jpeg = writer->jpeg;
  const std::size_t row_bytes = channels * static_cast<std::size_t>(image.width);
  const bool done = succeeds(writer->callbacks.place, [&] {
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &writer->written, &writer->written_bytes);
    jpeg.image_width = static_cast<JDIMENSION>(image.width);
    jpeg.image_height = static_cast<JDIMENSION>(image.height);
    jpeg.input_components = static_cast<int>(channels);
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    jpeg.optimize_coding = TRUE;
    if (quality >= full_colour_quality) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&jpeg, TRUE);
    if (!exif.empty())
      jpeg_write_marker(&jpeg, exif_marker, reinterpret_cast<const JOCTET*>(exif.data()),
                        static_cast<unsigned>(exif.size()));
    while (jpeg.next_scanline < jpeg.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(image.rgb.data() + row_bytes * jpeg.next_scanline);
      jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
  });
  if (!done) {
    writer->written = nullptr;  // libjpeg may have replaced the buffer before the error
    throw Error(std::string("a JPEG picture could not be encoded: ") + writer->callbacks.message.data());
  }
  const auto bytes = std::as_bytes(std::span(writer->written, writer->written_bytes));
  return {bytes.begin(), bytes.end()};
}

}  // namespace precast::image
