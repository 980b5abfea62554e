// JPEG, WebP and PNG through one interface: what Pillow reads, texts in EXIF, files that are broken.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <image/exif.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <precast/error.hpp>

namespace picture_formats {
namespace {

using namespace precast::image;
using precast::InputError;
using Bytes = std::vector<std::byte>;

Bytes from_hexadecimal(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

const nlohmann::json& format_goldens() {
  static const auto all = nlohmann::json::parse(
      std::ifstream(std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/image/formats_golden.json"));
  return all;
}

Bytes file_of(const std::string& name) { return from_hexadecimal(format_goldens().at(name).at("file")); }

Image smooth(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {255 * x / width, 255 * y / height, 128})
        image.rgb.push_back(static_cast<std::uint8_t>(value));
  return image;
}

/// What reading says; "" where it goes through. Any failure must be one line that names the file.
std::string refusal(const Bytes& data) {
  try {
    const Picture picture = decode_image(data, "hostile");
    CHECK(picture.image.rgb.size() == std::size_t{3} * static_cast<std::size_t>(picture.image.width) *
                                          static_cast<std::size_t>(picture.image.height));
    return "";
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with("hostile: "));
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
}

Bytes cut(const Bytes& whole, std::size_t length) {
  return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)};
}

std::size_t place_of(const Bytes& data, std::initializer_list<unsigned> pattern, std::size_t from = 0) {
  Bytes wanted;
  for (const unsigned value : pattern) wanted.push_back(static_cast<std::byte>(value));
  const auto found =
      std::search(data.begin() + static_cast<std::ptrdiff_t>(from), data.end(), wanted.begin(), wanted.end());
  REQUIRE(found != data.end());
  return static_cast<std::size_t>(found - data.begin());
}

Bytes with(Bytes data, std::size_t at, std::initializer_list<unsigned> values) {
  for (const unsigned value : values) data.at(at++) = static_cast<std::byte>(value);
  return data;
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::path(PRECAST_BINARY_DIR) / ("formats_test." + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("every kind of JPEG and WebP, and every orientation, reads as Pillow reads it") {
  REQUIRE(format_goldens().size() == 30);
  for (const auto& [name, golden] : format_goldens().items()) {
    INFO(name);
    const Picture picture = decode_image(from_hexadecimal(golden["file"]), name);
    CHECK(picture.orientation == upright);
    CHECK(picture.image.width == golden["size"][0].get<int>());
    CHECK(picture.image.height == golden["size"][1].get<int>());
    const Bytes expected = from_hexadecimal(golden["rgb"]);
    REQUIRE(picture.image.rgb.size() == expected.size());
    CHECK(std::memcmp(picture.image.rgb.data(), expected.data(), expected.size()) == 0);
    if (golden.contains("text")) {
      const std::vector<Text> texts{{"parameters", golden["text"]}};
      CHECK(picture.texts == texts);
    }
  }
}

TEST_CASE("a picture and its text come back from every kind of file, which its name's end chooses") {
  const Folder scratch;
  const std::vector<Text> texts{{"parameters", "caf\u00e9, \u732b \U0001f408\nSteps: 20, Seed: 1"}};
  const Image image = smooth(40, 24);
  const auto written_and_read = [&](const std::string& name, int quality) {
    write_image(scratch.path / name, image, texts, quality);
    const Picture read = read_image(scratch.path / name);
    CHECK(read.texts == texts);
    return read.image;
  };
  for (const std::string name : {"a.png", "b.PNG", "c"}) CHECK(written_and_read(name, 1) == image);
  CHECK(written_and_read("d.webp", 100) == image);
  for (const std::string name : {"e.jpg", "f.JPG", "g.jpeg", "h.Jpeg", "i.webp", "j.WEBP"}) {
    INFO(name);
    const double fine = difference(image, written_and_read(name, 95)).mse,
                 coarse = difference(image, written_and_read(name, 5)).mse;
    CHECK(fine > 0);
    CHECK(fine < coarse);
  }
  const auto begins = [&](const std::string& name, const std::string& with) {
    std::string text(with.size(), '\0');
    std::ifstream(scratch.path / name, std::ios::binary)
        .read(text.data(), static_cast<std::streamsize>(text.size()));
    return text == with;
  };
  CHECK(begins("f.JPG", "\xff\xd8\xff"));
  CHECK(begins("j.WEBP", "RIFF"));
  CHECK(begins("b.PNG", "\x89PNG"));
  for (const std::string name : {"a.gif", "a.tiff", "a.5", "a.jpg "})
    CHECK_THROWS_WITH(format_of_name(name),
                      Catch::StartsWith(name + ": ") && Catch::Contains(".png, .jpg, .jpeg or .webp"));
}

TEST_CASE("files are read by what is in them, whatever their name") {
  const Folder scratch;
  const Bytes jpeg = encode_image(Format::jpeg, smooth(8, 8));
  std::ofstream(scratch.path / "x.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
  CHECK(read_image(scratch.path / "x.png").image.width == 8);
  CHECK_THAT(refusal({}), Catch::Contains("empty"));
  CHECK_THAT(refusal(Bytes(100)), Catch::Contains("not a PNG, JPEG or WebP"));
}

TEST_CASE("JPEG and WebP files cut anywhere are refused") {
  for (const std::string name :
       {"jpeg rgb 444", "jpeg rgb 420", "jpeg progressive", "jpeg grey", "jpeg cmyk", "jpeg restarts",
        "webp lossy", "webp lossless", "webp lossy alpha", "webp lossless alpha", "webp text"}) {
    const Bytes whole = file_of(name);
    // libjpeg and libwebp are content when the pixels are there: JPEG's end marker is two bytes, WebP's
    // chunks are filled up to even lengths.
    const std::size_t last = whole.size() - (name.starts_with("jpeg") ? 2 : 64);
    for (std::size_t length = 0; length < last; length += 1 + length / 40) {
      INFO(name << ", " << length << " of " << whole.size() << " bytes");
      CHECK_FALSE(refusal(cut(whole, length)).empty());
    }
    CHECK(refusal(whole).empty());
  }
}

TEST_CASE("a flipped byte of a JPEG or WebP is refused or read, and never more") {
  for (const auto& [name, golden] : format_goldens().items()) {
    if (name.starts_with("png") || name.find("orientation") != std::string::npos) continue;
    INFO(name);
    const Bytes whole = from_hexadecimal(golden["file"]);
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
        Bytes broken = whole;
        broken[at] ^= static_cast<std::byte>(flip);
        refused += !refusal(broken).empty();
      }
    CHECK(refused > 0);
  }
}

TEST_CASE("malformed JPEG and WebP files are refused by name") {
  const Bytes jpeg = file_of("jpeg rgb 444"), progressive = file_of("jpeg progressive"),
              lossy = file_of("webp lossy"), lossless = file_of("webp lossless"),
              alpha = file_of("webp lossy alpha");
  const std::size_t frame = place_of(jpeg, {0xff, 0xc0}), scan = place_of(jpeg, {0xff, 0xda}),
                    codes = place_of(jpeg, {0xff, 0xc4}), table = place_of(jpeg, {0xff, 0xdb}),
                    progressive_frame = place_of(progressive, {0xff, 0xc2}),
                    progressive_scan = place_of(progressive, {0xff, 0xda});
  struct Malformed {
    const char* what;
    Bytes file;
  };
  const std::vector<Malformed> files{
      {"only its first marker", cut(jpeg, 3)},
      {"no frame", cut(jpeg, frame)},
      {"no scan", cut(jpeg, scan)},
      {"a scan without data", cut(jpeg, scan + 14)},
      {"half of its data", cut(jpeg, (scan + jpeg.size()) / 2)},
      {"a width of 0", with(jpeg, frame + 7, {0, 0})},
      {"a height of 0", with(jpeg, frame + 5, {0, 0})},
      {"65000 wide", with(jpeg, frame + 7, {0xfd, 0xe8})},
      {"65535 high", with(jpeg, frame + 5, {0xff, 0xff})},
      {"65500 squared", with(jpeg, frame + 5, {0xff, 0xdc, 0xff, 0xdc})},
      {"16384 squared in a thousand bytes", with(jpeg, frame + 5, {0x40, 0, 0x40, 0})},
      {"10000 squared, progressive", with(progressive, progressive_frame + 5, {0x27, 0x10, 0x27, 0x10})},
      {"12 bits", with(jpeg, frame + 4, {12})},
      {"no components", with(jpeg, frame + 9, {0})},
      {"200 components", with(jpeg, frame + 9, {200})},
      {"a frame that is too short", with(jpeg, frame + 2, {0, 3})},
      {"a frame that is too long", with(jpeg, frame + 2, {0xff, 0xff})},
      {"sampled 15 times", with(jpeg, frame + 11, {0xff})},
      {"sampled 0 times", with(jpeg, frame + 11, {0})},
      {"a quantisation table that is not there", with(jpeg, frame + 12, {3})},
      {"a quantisation table of number 200", with(jpeg, frame + 12, {200})},
      {"lossless JPEG, which is not known", with(jpeg, frame + 1, {0xc3})},
      {"hierarchical JPEG, which is not known", with(jpeg, frame + 1, {0xc5})},
      {"two frames", with(jpeg, codes + 1, {0xc0})},
      {"a table of codes of 65535 bytes", with(jpeg, codes + 2, {0xff, 0xff})},
      {"a table of codes of a length of 1", with(jpeg, codes + 2, {0, 1})},
      {"a table of codes of number 9", with(jpeg, codes + 4, {9})},
      {"codes that do not fit their lengths", with(jpeg, codes + 5, {200, 200})},
      {"quantisation of a length of 1", with(jpeg, table + 2, {0, 1})},
      {"quantisation table 12", with(jpeg, table + 4, {12})},
      {"a scan of no components", with(jpeg, scan + 4, {0})},
      {"a scan of five components", with(jpeg, scan + 4, {5})},
      {"a scan of a component that is not there", with(jpeg, scan + 5, {77})},
      {"a scan whose codes are not there", with(jpeg, scan + 6, {0x33})},
      {"a scan that begins after its end", with(progressive, progressive_scan + 11, {5, 2})},
      {"a scan beyond the 64th value", with(progressive, progressive_scan + 12, {99})},
      {"a scan of a shift of 15", with(progressive, progressive_scan + 13, {0xff})},
      {"a WebP of its first 12 bytes", cut(lossy, 12)},
      {"a WebP of its first 20 bytes", cut(lossy, 20)},
      {"a WebP whose chunk has another name", with(lossy, 12, {'V', 'P', '9', ' '})},
      {"a WebP without the start of its key frame", with(lossy, 23, {0, 0, 0})},
      {"a WebP that begins with no key frame", with(lossy, 20, {0xff})},
      {"a WebP of width 0", with(lossy, 26, {0, 0})},
      {"a WebP of height 0", with(lossy, 28, {0, 0})},
      {"a WebP of 16383 squared", with(lossy, 26, {0xff, 0x3f, 0xff, 0x3f})},
      {"a WebP whose first part is longer than the file", with(lossy, 20, {0xf0, 0xff, 0xff})},
      {"a lossless WebP without its signature", with(lossless, 20, {0x2e})},
      {"a lossless WebP of version 7", with(lossless, 24, {0xff})},
      {"a lossless WebP of 16384 squared", with(lossless, 21, {0xff, 0xff, 0xff, 0x0f})},
      {"an animated WebP", with(alpha, 20, {0x12})},
      {"a WebP whose canvas is another", with(alpha, 24, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff})},
      {"a WebP of half of its alpha", cut(alpha, 40)},
  };
  REQUIRE(files.size() >= 50);
  for (const Malformed& malformed : files) {
    INFO(malformed.what);
    CHECK_FALSE(refusal(malformed.file).empty());
  }
  CHECK_THAT(refusal(files[10].file), Catch::Contains("cannot hold 16384x16384 pixels"));
  CHECK_THAT(refusal(files[11].file), Catch::Contains("cannot hold 10000x10000 pixels"));
  CHECK_THAT(refusal(files[7].file), Catch::Contains("65000x13"));
  CHECK_THAT(refusal(with(lossy, 26, {0xff, 0x3f, 0xff, 0x3f})),
             Catch::Contains("claim 16383x16383 pixels") && Catch::Contains("as PNG"));
  CHECK_THAT(refusal(with(alpha, 20, {0x12})), Catch::Contains("animation"));
}

TEST_CASE("CMYK is read the same without Adobe's marker, as Pillow reads it") {
  const Bytes with_marker = file_of("jpeg cmyk");
  const auto marker = static_cast<std::ptrdiff_t>(place_of(with_marker, {0xff, 0xee}));
  constexpr std::ptrdiff_t marker_bytes = 2 + 14;
  Bytes without = with_marker;
  without.erase(without.begin() + marker, without.begin() + marker + marker_bytes);
  CHECK(decode_image(without, "a.jpg").image == decode_image(with_marker, "a.jpg").image);
}

TEST_CASE("a JPEG of a thousand scans does not take a thousand times as long") {
  const Bytes whole = file_of("jpeg progressive");
  const std::size_t scan = place_of(whole, {0xff, 0xda}), next = place_of(whole, {0xff, 0xc4}, scan + 2),
                    next_scan = place_of(whole, {0xff, 0xda}, scan + 2);
  const std::size_t end = std::min(next, next_scan);
  Bytes many = cut(whole, end);
  for (int i = 0; i < 1000; ++i)
    many.insert(many.end(), whole.begin() + static_cast<std::ptrdiff_t>(scan),
                whole.begin() + static_cast<std::ptrdiff_t>(end));
  many.insert(many.end(), whole.begin() + static_cast<std::ptrdiff_t>(end), whole.end());
  CHECK_THAT(refusal(many), Catch::Contains("broken JPEG"));
}

TEST_CASE("damaged EXIF is passed over, and every length of it") {
  const std::vector<Text> texts{
      {"prompt", R"({"1": {}})"}, {"parameters", "a, b\nSteps: 1"}, {"workflow", "{}"}};
  const Bytes block = exif_block(texts);
  const auto sorted = [](std::vector<Text> all) {
    std::ranges::sort(all, {}, &Text::key);
    return all;
  };
  CHECK(sorted(read_exif(block).texts) == sorted(texts));
  for (std::size_t length = 0; length < block.size(); ++length) read_exif(std::span(block).first(length));
  for (std::size_t at = 0; at < block.size(); ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Bytes broken = block;
      broken[at] ^= static_cast<std::byte>(flip);
      CHECK(read_exif(broken).orientation.value_or(upright) >= 1);
    }
  CHECK(exif_block({}).empty());
  const std::vector<Text> other{{"Software", "x"}};
  CHECK(exif_block(other).empty());
  CHECK(read_exif(exif_block(std::span(texts).first(1))).texts == std::vector<Text>{texts[0]});
}

TEST_CASE("an orientation is a number of 16 or of 32 bits, from 1 to 8, in either order of bytes") {
  // A table of this one entry: its type, count and value.
  const auto upper_first = [](const std::string& entry) {
    return orientation_of(read_exif(from_hexadecimal("4d4d002a0000000800010112" + entry + "00000000")), {});
  };
  const auto lower_first = [](const std::string& entry) {
    return orientation_of(read_exif(from_hexadecimal("49492a000800000001001201" + entry + "00000000")), {});
  };
  CHECK(upper_first("00030000000100060000") == 6);
  CHECK(lower_first("03000100000006000000") == 6);
  CHECK(upper_first("00040000000100000006") == 6);
  CHECK(lower_first("04000100000006000000") == 6);
  CHECK(upper_first("00040000000100060000") == upright);
  CHECK(upper_first("00030000000100090000") == upright);
  CHECK(upper_first("00010000000106000000") == upright);
}

TEST_CASE("XMP's orientation is taken where EXIF says none") {
  const auto turned = [](std::string_view xmp) { return orientation_of({}, xmp); };
  CHECK(turned(R"(<rdf:Description tiff:Orientation="6"/>)") == 6);
  CHECK(turned("<tiff:Orientation>8</tiff:Orientation>") == 8);
  for (const std::string_view none :
       {"", "tiff:Orientation", "tiff:Orientation=", "tiff:Orientation=\"", "tiff:Orientation=\"9\"",
        "<tiff:Orientation>0</tiff:Orientation>", "tiff:Orientations=\"6\""})
    CHECK(turned(none) == upright);
  CHECK(orientation_of({.orientation = upright, .texts = {}}, "<tiff:Orientation>8<") == upright);
}

TEST_CASE("UserComment is read in either order of bytes") {
  // "II*": a table of one link to a table of one comment, whose UTF-16 has the lower byte first.
  const auto block = from_hexadecimal(
      "49492a0008000000"
      "0100"
      "6987"
      "0400"
      "01000000"
      "1a000000"
      "00000000"
      "0100"
      "8692"
      "0700"
      "0c000000"
      "2c000000"
      "00000000"
      "554e49434f444500"
      "61006200");
  REQUIRE(read_exif(block).texts.size() == 1);
  CHECK(read_exif(block).texts[0].value == "ab");
  auto upper_first = block;
  upper_first[52] = std::byte{0}, upper_first[53] = std::byte{'a'};
  upper_first[54] = std::byte{0}, upper_first[55] = std::byte{'b'};
  CHECK(read_exif(upper_first).texts[0].value == "ab");
}

TEST_CASE("UserComment keeps texts of characters whose lower byte is zero, and a first mark of the order") {
  const std::string mark = "\ufeff", one = "\u4e00";
  for (const std::string& value : {one + one + one + "a", mark + "a", mark, mark + mark + one}) {
    const std::vector<Text> texts{{"parameters", value}};
    CHECK(read_exif(exif_block(texts)).texts == texts);
  }
}

TEST_CASE("a text that JPEG cannot hold is an error, and PNG and WebP hold it") {
  const std::vector<Text> texts{{"parameters", std::string(40000, 'x')}};
  CHECK_THROWS_AS(encode_image(Format::jpeg, smooth(2, 2), texts), InputError);
  for (const Format format : {Format::png, Format::webp})
    CHECK(decode_image(encode_image(format, smooth(2, 2), texts), "x").texts == texts);
  const Image wide{16384, 1, std::vector<std::uint8_t>(std::size_t{3} * 16384)};
  CHECK_THROWS_WITH(encode_image(Format::webp, wide), Catch::Contains("16383"));
  CHECK(decode_image(encode_image(Format::jpeg, wide), "x").image.width == 16384);
}

}  // namespace picture_formats
