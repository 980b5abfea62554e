#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <image/exif.hpp>
#include <image/file_errors.hpp>
#include <image/webp.hpp>
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::image {
namespace {

/// A picture of one colour takes a few bytes at any size: no file is rejected as too small for this many
/// bytes of pixels. Above, deflate's best ratio is the limit, as for PNG.
constexpr std::uint64_t always_allowed_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t largest_ratio = 1032;

struct MuxEnds {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};
using Mux = std::unique_ptr<WebPMux, MuxEnds>;

WebPData webp_data(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::string_view in_words(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends too early";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory for it";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "a feature that libwebp does not know";
    default:
      return "its data are not WebP's";
  }
}

/// libwebp's output callback; an exception must not propagate into libwebp.
int append_webp(const std::uint8_t* data, std::size_t count, const WebPPicture* picture) noexcept try {
  const auto bytes = std::as_bytes(std::span(data, count));
  auto& written = *static_cast<std::vector<std::byte>*>(picture->custom_ptr);
  written.insert(written.end(), bytes.begin(), bytes.end());
  return 1;
} catch (...) {
  return 0;
}

struct PictureMemory {
  WebPPicture picture{};
  PictureMemory() = default;
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;
  ~PictureMemory() { WebPPictureFree(&picture); }
};

std::vector<std::byte> with_exif(std::span<const std::byte> webp, std::span<const std::byte> exif) {
  const WebPData bare = webp_data(webp), block = webp_data(exif);
  const Mux mux(WebPMuxCreate(&bare, 0));
  WebPData whole{};
  const bool done = mux && WebPMuxSetChunk(mux.get(), "EXIF", &block, 0) == WEBP_MUX_OK &&
                    WebPMuxAssemble(mux.get(), &whole) == WEBP_MUX_OK;
  if (!done) throw Error("a WebP picture could not be given its text");
  const auto bytes = std::as_bytes(std::span(whole.bytes, whole.size));
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  WebPDataClear(&whole);
  return result;
}

}  // namespace

Picture decode_webp(std::span<const std::byte> data, const std::filesystem::path& name) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  const auto broken = [&](VP8StatusCode status) {
    return io::file_error(name, "broken WebP picture (" + std::string(in_words(status)) + "): get it again");
  };
  WebPBitstreamFeatures features;
  if (const VP8StatusCode status = WebPGetFeatures(bytes, data.size(), &features); status != VP8_STATUS_OK)
    throw broken(status);
  if (features.has_animation)
    throw io::file_error(name, "is an animation: save one of its pictures as a file of its own");
  const std::int64_t width = features.width, height = features.height;
  if (!allowed_size(width, height)) throw too_large(name, width, height);
  const std::uint64_t pixel_bytes =
      channels * static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  if (pixel_bytes > always_allowed_bytes && pixel_bytes / largest_ratio > data.size())
    throw io::file_error(name, "its " + std::to_string(data.size()) + " bytes claim " +
                                   size_text(width, height) +
                                   " pixels, more than is plausible for a WebP picture: if it really has one "
                                   "colour, make it smaller, or save it as PNG");

  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  Picture result;
  result.image.width = features.width;
  result.image.height = features.height;
  result.image.rgb.resize(static_cast<std::size_t>(pixel_bytes));
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = result.image.rgb.data();
  config.output.u.RGBA.stride = static_cast<int>(channels) * features.width;
  config.output.u.RGBA.size = result.image.rgb.size();
  const VP8StatusCode status = WebPDecode(bytes, data.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) throw broken(status);

  const WebPData whole = webp_data(data);
  const Mux mux(WebPMuxCreate(&whole, 0));
  const auto chunk = [&](const char* four_letters) -> std::span<const std::uint8_t> {
    WebPData block{};
    if (!mux || WebPMuxGetChunk(mux.get(), four_letters, &block) != WEBP_MUX_OK) return {};
    return {block.bytes, block.size};
  };
  Exif exif = read_exif(std::as_bytes(chunk("EXIF")));
  const std::span<const std::uint8_t> xmp = chunk("XMP ");
  result.orientation = orientation_of(exif, {reinterpret_cast<const char*>(xmp.data()), xmp.size()});
  result.texts = std::move(exif.texts);
  return result;
}

std::vector<std::byte> encode_webp(const Image& image, std::span<const Text> texts, int quality) {
  check_pixels(image, "encode_webp");
  static_assert(longest_side_of_webp == WEBP_MAX_DIMENSION);
  if (image.width > longest_side_of_webp || image.height > longest_side_of_webp)
    throw InputError("a WebP picture's sides end at " + std::to_string(longest_side_of_webp) +
                     ": write PNG, or a smaller picture");
  WebPConfig config;
  PictureMemory memory;
  WebPPicture& picture = memory.picture;
  std::vector<std::byte> written;
  const bool lossless = quality >= lossless_quality;
  bool done = WebPConfigInit(&config) != 0 && WebPPictureInit(&picture) != 0;
  if (done && lossless) done = WebPConfigLosslessPreset(&config, 6) != 0;
  if (!lossless) config.quality = static_cast<float>(quality);
  config.use_sharp_yuv = lossless ? 0 : 1;
  picture.use_argb = 1;
  picture.width = image.width;
  picture.height = image.height;
  picture.writer = append_webp;
  picture.custom_ptr = &written;
  done = done &&
         WebPPictureImportRGB(&picture, image.rgb.data(), static_cast<int>(channels) * image.width) != 0 &&
         WebPEncode(&config, &picture) != 0;
  if (!done)
    throw Error("a WebP picture could not be encoded: libwebp's error " + std::to_string(picture.error_code));
  const std::vector<std::byte> exif = exif_block(texts);
  return exif.empty() ? written : with_exif(written, exif);
}

}  // namespace precast::image
