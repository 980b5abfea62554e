// PNG reading and writing: every kind of file, texts, and files that are broken.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <catch2/catch.hpp>
#include <image/picture_file.hpp>
#include <image/png.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <precast/error.hpp>

using namespace precast::image;
using precast::InputError;

namespace {

using Bytes = std::vector<std::byte>;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

const nlohmann::json& goldens() {
  static const auto all = nlohmann::json::parse(
      std::ifstream(std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/image/png_golden.json"));
  return all;
}

Image gradient(int width, int height) {
  Image image{width, height, {}};
  for (int i = 0; i < 3 * width * height; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i * 7));
  return image;
}

/// A folder that is gone with the object.
struct ScratchFolder {
  std::filesystem::path path =
      std::filesystem::path(PRECAST_BINARY_DIR) / ("png_test." + std::to_string(::getpid()));
  ScratchFolder() { std::filesystem::create_directories(path); }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
};

/// The bytes after the chunk's name, for the first chunk of that name; empty where there is none.
std::string chunk_of(const Bytes& png, const std::string& name) {
  const std::string text(reinterpret_cast<const char*>(png.data()), png.size());
  for (std::size_t at = 8; at + 8 <= text.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(text[at + i]);
    if (text.substr(at + 4, 4) == name) return text.substr(at + 8, length);
    at += 12 + length;
  }
  return "";
}

/// Decodes; returns whether that went through. Any failure must be one line that names the file.
bool decodes(const Bytes& data) {
  try {
    const Picture png = decode_png(data, "hostile.png");
    CHECK(png.image.rgb.size() == std::size_t{3} * static_cast<std::size_t>(png.image.width) *
                                      static_cast<std::size_t>(png.image.height));
    return true;
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with("hostile.png: "));
    CHECK(message.find('\n') == std::string::npos);
    return false;
  }
}

void set_size(Bytes& png, std::size_t offset, std::uint32_t size) {
  for (std::size_t i = 0; i < 4; ++i) png[offset + i] = static_cast<std::byte>(size >> (24 - 8 * i));
}

/// Rewrites the CRC of the IHDR chunk, which starts at byte 8.
void repair_header(Bytes& png) {
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<std::uint32_t>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  set_size(png, 29, ~crc);
}

}  // namespace

TEST_CASE("every PNG colour type, depth and interlacing reads as Pillow reads it") {
  REQUIRE(goldens().size() == 60);
  for (const auto& [name, golden] : goldens().items()) {
    INFO(name);
    const Bytes data = from_hex(golden["png"]);
    const Image image = decode_png(data, name).image;
    CHECK(image.width == golden["size"][0].get<int>());
    CHECK(image.height == golden["size"][1].get<int>());
    const Bytes expected = from_hex(golden["rgb"]);
    REQUIRE(image.rgb.size() == expected.size());
    CHECK(std::memcmp(image.rgb.data(), expected.data(), expected.size()) == 0);
  }
}

TEST_CASE("pictures and texts come back as they were written") {
  const ScratchFolder scratch;
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(7, 3), std::pair(1, 300), std::pair(260, 1)}) {
    const Image image = gradient(width, height);
    const std::vector<Text> texts = {{"parameters", "a cat\nSteps: 20, Seed: 1"}, {"Software", "Precast"}};
    write_image(scratch.path / "x.png", image, texts);
    const Picture read = read_image(scratch.path / "x.png");
    CHECK(read.image == image);
    CHECK(read.texts == texts);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path), {}) == 1);
}

TEST_CASE("a text is tEXt where Latin-1 can write it, and iTXt elsewhere") {
  const auto written = [](const std::string& value) {
    const Text text{"parameters", value};
    return encode_png(gradient(1, 1), std::span(&text, 1));
  };
  const auto read = [](const Bytes& png) { return decode_png(png, "x.png").texts.at(0).value; };
  const std::string key = std::string("parameters") + '\0';

  CHECK(chunk_of(written("plain"), "tEXt") == key + "plain");
  CHECK(chunk_of(written("caf\u00e9"), "tEXt") == key + "caf\xe9");
  CHECK(read(written("caf\u00e9 \u00ff")) == "caf\u00e9 \u00ff");
  CHECK(read(written("")) == "");

  const std::string cat = "\u732b \U0001f408 \u0100";
  CHECK(chunk_of(written(cat), "tEXt").empty());
  CHECK(chunk_of(written(cat), "iTXt") == key + std::string(4, '\0') + cat);
  CHECK(read(written(cat)) == cat);
}

TEST_CASE("texts that are not UTF-8 are repaired") {
  const auto round_trip = [](const std::string& value) {
    const Text text{"parameters", value};
    return decode_png(encode_png(gradient(1, 1), std::span(&text, 1)), "x.png").texts.at(0).value;
  };
  CHECK(round_trip("a\xff"
                   "b") ==
        "a\ufffd"
        "b");
  CHECK(round_trip("cut \xe7\x8c") == "cut \ufffd\ufffd");
  CHECK(round_trip("\xc0\xaf") == "\ufffd\ufffd");                      // overlong
  CHECK(round_trip("\xe0\x80\x80") == "\ufffd\ufffd\ufffd");            // overlong
  CHECK(round_trip("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");            // a surrogate
  CHECK(round_trip("\xf4\x90\x80\x80") == "\ufffd\ufffd\ufffd\ufffd");  // beyond Unicode
  CHECK(round_trip(std::string("a\0b", 3)) == "a b");
  const Text empty{"", "x"}, spaced{"a key", "x"}, long_key{std::string(80, 'k'), "x"};
  for (const Text& text : {empty, spaced, long_key})
    CHECK_THROWS_AS(encode_png(gradient(1, 1), std::span(&text, 1)), InputError);
}

TEST_CASE("a file cut anywhere is refused, whatever its kind") {
  for (const auto& [name, golden] : goldens().items()) {
    const Bytes whole = from_hex(golden["png"]);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO(name << ", " << length << " of " << whole.size() << " bytes");
      CHECK_FALSE(decodes(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))));
    }
    CHECK(decodes(whole));
  }
}

TEST_CASE("a flipped byte is refused or read, and never more") {
  int refused = 0, total = 0;
  for (const auto& [name, golden] : goldens().items()) {
    INFO(name);
    const Bytes whole = from_hex(golden["png"]);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
        Bytes broken = whole;
        broken[at] ^= static_cast<std::byte>(flip);
        refused += !decodes(broken);
        ++total;
      }
    }
  }
  CHECK(refused > total / 2);  // checksums guard all but the transparency, which is not needed
}

TEST_CASE("absurd sizes are refused before memory is taken for them") {
  const Bytes whole = encode_png(gradient(3, 2));
  const auto message = [&](std::uint32_t width, std::uint32_t height) -> std::string {
    Bytes broken = whole;
    set_size(broken, 16, width);
    set_size(broken, 20, height);
    repair_header(broken);
    try {
      decode_png(broken, "hostile.png");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message(3, 2).empty());
  CHECK(message(16385, 1).find("16385x1") != std::string::npos);
  CHECK(message(1, 2000000000).find("1x2000000000") != std::string::npos);
  CHECK(message(16384, 16384).find("cannot hold 16384x16384 pixels") != std::string::npos);
  CHECK_FALSE(message(0, 1).empty());
  CHECK_FALSE(message(0xffffffffu, 0xffffffffu).empty());
  CHECK_FALSE(message(3, 3).empty());
}

TEST_CASE("what is no PNG, or cannot be read or written, is named in one line") {
  const ScratchFolder scratch;
  const auto message = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  std::ofstream(scratch.path / "a.jpg") << "\xff\xd8\xff\xe0 this is no PNG";
  std::ofstream(scratch.path / "empty.png");
  CHECK(message([&] { read_image(scratch.path / "a.jpg"); }).find("a.jpg: broken JPEG") != std::string::npos);
  CHECK(message([&] { read_image(scratch.path / "empty.png"); }).find("empty.png") != std::string::npos);
  CHECK(message([&] { read_image(scratch.path / "none.png"); }).find("none.png") != std::string::npos);
  CHECK(message([&] { read_image(scratch.path); }).find("png_test") != std::string::npos);
  const auto nowhere = scratch.path / "no such folder/x.png";
  CHECK(message([&] { write_image(nowhere, gradient(2, 2)); }).find("no such folder") != std::string::npos);
  CHECK_THROWS_AS(encode_png(Image{2, 2, {1, 2, 3}}), precast::ShapeError);
  // More than any picture's settings are not kept.
  const std::vector<Text> many(20, Text{"parameters", std::string(std::size_t{4} << 20, 'a')});
  CHECK_THROWS_WITH(decode_png(encode_png(gradient(1, 1), many), "x.png"),
                    Catch::Contains("x.png") && Catch::Contains("holds texts of more than 64.0 MiB"));
  CHECK(decode_png(encode_png(gradient(1, 1), std::span(many).first(2)), "x.png").texts.size() == 2);
  CHECK_THROWS_AS(encode_png(Image{}), precast::ShapeError);
}
