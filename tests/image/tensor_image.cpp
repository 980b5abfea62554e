// Pictures to tensors and back, and the distance between pictures.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <catch2/catch.hpp>
#include <image/metrics.hpp>
#include <image/tensor_image.hpp>

#include <precast/io/safetensors.hpp>

using namespace precast;
using namespace precast::image;

TEST_CASE("all 256 levels survive the way to a tensor and back") {
  Image image{16, 16, {}};
  for (int i = 0; i < 256; ++i) image.rgb.insert(image.rgb.end(), 3, static_cast<std::uint8_t>(i));
  const Tensor<f32> values = to_tensor(image);
  REQUIRE(values.shape() == Shape{1, 16, 16, 3});
  CHECK(values.values().front() == -1.0f);
  CHECK(values.values().back() == 1.0f);
  CHECK(values.values()[3 * 100] == 2.0f * (100.0f / 255.0f) - 1.0f);
  const Pictures back = to_images(values);
  REQUIRE(back.images.size() == 1);
  CHECK(back.images[0] == image);
  CHECK(back.nan == 0);
}

TEST_CASE("values are clamped, ties go to even, and NaN is black and counted") {
  const f32 infinity = std::numeric_limits<f32>::infinity();
  const Tensor<f32> values(Shape{1, 1, 3, 3}, std::vector<f32>{-infinity, infinity, std::nanf(""), -5, 5,
                                                               -0.0f, -1, 1, std::nanf("")});
  const Pictures pictures = to_images(values);
  CHECK(pictures.nan == 2);
  CHECK(pictures.images.at(0).rgb == std::vector<std::uint8_t>{0, 255, 0, 0, 255, 128, 0, 255, 0});
  // -0 becomes 127.5, whose even neighbour is 128; 126.5 goes down to 126.
  const f32 level = 126.5f / 255.0f;
  REQUIRE(level * 255.0f == 126.5f);
  const Tensor<f32> tie(Shape{1, 1, 1, 3}, std::vector<f32>(3, 2 * level - 1));
  CHECK(to_images(tie).images[0].rgb == std::vector<std::uint8_t>{126, 126, 126});
}

TEST_CASE("several pictures keep their order") {
  Tensor<f32> values(Shape{2, 1, 2, 3});
  std::fill(values.values().begin(), values.values().begin() + 6, -1.0f);
  std::fill(values.values().begin() + 6, values.values().end(), 1.0f);
  const Pictures pictures = to_images(values);
  REQUIRE(pictures.images.size() == 2);
  CHECK(pictures.images[0] == Image{2, 1, std::vector<std::uint8_t>(6, 0)});
  CHECK(pictures.images[1] == Image{2, 1, std::vector<std::uint8_t>(6, 255)});
  CHECK_THROWS_AS(to_images(Tensor<f32>(Shape{1, 2, 2, 4})), ShapeError);
  CHECK_THROWS_AS(to_images(Tensor<f32>(Shape{2, 2, 3})), ShapeError);
}

TEST_CASE("decoded pictures have diffusers' bytes") {
  int files = 0;
  const auto goldens = std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden";
  for (const auto& model : std::filesystem::directory_iterator(goldens / "models")) {
    const auto file = goldens / "expected" / (model.path().filename().string() + ".safetensors");
    const io::SafetensorsFile golden(file);
    if (!golden.lookup("image_u8")) continue;
    INFO(file);
    const auto& decoded = golden.at("image");
    const std::int64_t height = decoded.shape[2], width = decoded.shape[3];
    Tensor<f32> values(Shape{1, height, width, 3});
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t i = 0; i < height * width; ++i)
        std::memcpy(values.data() + 3 * i + c, decoded.bytes.data() + (c * height * width + i) * 4, 4);
    const auto& expected = golden.at("image_u8");
    const Image image = to_images(values).images.at(0);
    REQUIRE(image.rgb.size() == expected.bytes.size());
    CHECK(std::memcmp(image.rgb.data(), expected.bytes.data(), expected.bytes.size()) == 0);
    ++files;
  }
  CHECK(files >= 4);
}

TEST_CASE("mse and psnr of pictures") {
  const Image black{2, 1, std::vector<std::uint8_t>(6, 0)};
  const Image white{2, 1, std::vector<std::uint8_t>(6, 255)};
  Image near = black;
  near.rgb[4] = 3;
  CHECK(difference(black, black).mse == 0);
  CHECK(std::isinf(difference(black, black).psnr));
  CHECK(difference(black, white).mse == 255 * 255);
  CHECK(difference(black, white).psnr == 0);
  CHECK(difference(black, near).mse == 1.5);
  CHECK(difference(near, black).psnr == Approx(46.3698910).epsilon(1e-8));
  CHECK_THROWS_AS(difference(black, Image{1, 2, std::vector<std::uint8_t>(6, 0)}), ShapeError);
}
