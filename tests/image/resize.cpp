// Lanczos resizing against Pillow (make_image_goldens.py and the golden models' img2img pictures).
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <image/resize.hpp>
#include <nlohmann/json.hpp>

#include <precast/io/safetensors.hpp>

using precast::image::Image;
using precast::image::resize;

namespace {

const std::filesystem::path source_folder = PRECAST_SOURCE_DIR;

/// The picture that make_image_goldens.py draws too.
Image pattern(int width, int height, bool hard) {
  Image image{width, height, {}};
  const std::uint32_t count = static_cast<std::uint32_t>(3 * width * height);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t value = (i * 2654435761u) >> 24;
    image.rgb.push_back(static_cast<std::uint8_t>(hard ? (value > 127 ? 255 : 0) : value));
  }
  return image;
}

std::string fnv1a(const std::vector<std::uint8_t>& data) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : data) hash = (hash ^ byte) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

Image image_of(const precast::io::TensorEntry& entry) {
  REQUIRE(entry.shape.rank() == 3);
  Image image{static_cast<int>(entry.shape[1]), static_cast<int>(entry.shape[0]), {}};
  for (const std::byte value : entry.bytes) image.rgb.push_back(static_cast<std::uint8_t>(value));
  return image;
}

}  // namespace

TEST_CASE("resize gives Pillow's bytes") {
  const auto goldens = nlohmann::json::parse(std::ifstream(source_folder / "tests/image/resize_golden.json"));
  REQUIRE(goldens.size() >= 30);
  for (const auto& golden : goldens) {
    INFO(golden.dump());
    const Image image = pattern(golden["from"][0], golden["from"][1], golden["hard"]);
    const Image resized = resize(image, golden["to"][0], golden["to"][1]);
    CHECK(resized.width == golden["to"][0].get<int>());
    CHECK(resized.height == golden["to"][1].get<int>());
    CHECK(fnv1a(resized.rgb) == golden["fnv1a"].get<std::string>());
  }
}

TEST_CASE("the golden models' pictures resize as in diffusers") {
  const std::filesystem::path goldens = source_folder / "tests/golden";
  int files = 0;
  for (const auto& model : std::filesystem::directory_iterator(goldens / "models")) {
    const auto file = goldens / "expected" / (model.path().filename().string() + ".safetensors");
    const precast::io::SafetensorsFile golden(file);
    if (!golden.lookup("encode.image_u8")) continue;
    INFO(file);
    const Image expected = image_of(golden.at("encode.resized_u8"));
    CHECK(resize(image_of(golden.at("encode.image_u8")), expected.width, expected.height) == expected);
    ++files;
  }
  CHECK(files >= 1);
}

TEST_CASE("a picture of one colour keeps it at every size") {
  for (const int value : {0, 1, 128, 254, 255}) {
    const Image image{5, 3, std::vector<std::uint8_t>(45, static_cast<std::uint8_t>(value))};
    for (const int size : {1, 2, 3, 5, 17, 64}) {
      const Image resized = resize(image, size, 65 - size);
      CHECK(resized.rgb == std::vector<std::uint8_t>(static_cast<std::size_t>(3 * size * (65 - size)),
                                                     static_cast<std::uint8_t>(value)));
    }
  }
}

TEST_CASE("sizes and pictures that do not make sense are refused") {
  const Image image = pattern(4, 4, false);
  CHECK_THROWS_AS(resize(image, 0, 4), precast::InputError);
  CHECK_THROWS_AS(resize(image, 4, -1), precast::InputError);
  CHECK_THROWS_AS(resize(image, 4, 16385), precast::InputError);
  CHECK_THROWS_AS(resize(Image{4, 4, {1, 2, 3}}, 2, 2), precast::ShapeError);
  CHECK_THROWS_AS(resize(Image{}, 2, 2), precast::ShapeError);
}
