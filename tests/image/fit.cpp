// A picture of one shape where another is needed.
#include <catch2/catch.hpp>
#include <image/fit.hpp>
#include <image/resize.hpp>

#include <precast/error.hpp>

namespace picture_fit {
namespace {

using namespace precast::image;

/// Each pixel says where it is.
Image places(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {x + 1, y + 1, 200}) image.rgb.push_back(static_cast<std::uint8_t>(value));
  return image;
}

std::vector<int> pixel(const Image& image, int x, int y) {
  const auto at = channels * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                              static_cast<std::size_t>(x));
  return {image.rgb[at], image.rgb[at + 1], image.rgb[at + 2]};
}

}  // namespace

TEST_CASE("stretch is resize, and what fits already is left as it is") {
  const Image image = places(9, 5);
  CHECK(fitted(image, 4, 4, Fit::stretch) == resize(image, 4, 4));
  for (const Fit fit : {Fit::stretch, Fit::crop, Fit::pad}) CHECK(fitted(image, 9, 5, fit) == image);
  CHECK_THROWS_AS(fitted(image, 0, 4, Fit::crop), precast::InputError);
  CHECK_THROWS_AS(fitted(Image{}, 4, 4, Fit::pad), precast::ShapeError);
}

TEST_CASE("crop keeps the middle, in its shape") {
  const Image wide = fitted(places(9, 5), 5, 5, Fit::crop);
  CHECK(wide.width == 5);
  CHECK(pixel(wide, 0, 0) == std::vector{3, 1, 200});  // two columns of four are gone on the left
  CHECK(pixel(wide, 4, 4) == std::vector{7, 5, 200});
  const Image high = fitted(places(3, 9), 3, 3, Fit::crop);
  CHECK(pixel(high, 0, 0) == std::vector{1, 4, 200});
  CHECK(pixel(high, 2, 2) == std::vector{3, 6, 200});
  const Image scaled = fitted(places(40, 10), 20, 20, Fit::crop);
  Image middle{10, 10, {}};
  for (int y = 0; y < 10; ++y)
    for (int x = 15; x < 25; ++x)
      for (const int value : pixel(places(40, 10), x, y))
        middle.rgb.push_back(static_cast<std::uint8_t>(value));
  CHECK(scaled == resize(middle, 20, 20));
}

TEST_CASE("pad keeps all of it, between black") {
  const Image padded = fitted(places(4, 8), 8, 8, Fit::pad);
  for (int y = 0; y < 8; ++y)
    for (const int x : {0, 1, 6, 7}) CHECK(pixel(padded, x, y) == std::vector{0, 0, 0});
  CHECK(pixel(padded, 2, 0) == std::vector{1, 1, 200});
  CHECK(pixel(padded, 5, 7) == std::vector{4, 8, 200});
  const Image smaller = fitted(places(16, 8), 8, 8, Fit::pad);
  const Image inner = resize(places(16, 8), 8, 4);
  CHECK(pixel(smaller, 3, 1) == std::vector{0, 0, 0});
  CHECK(pixel(smaller, 3, 2) == pixel(inner, 3, 0));
  CHECK(pixel(smaller, 3, 5) == pixel(inner, 3, 3));
  CHECK(pixel(smaller, 3, 6) == std::vector{0, 0, 0});
}

TEST_CASE("extreme shapes keep at least a line") {
  for (const Fit fit : {Fit::crop, Fit::pad}) {
    const Image thin = fitted(places(200, 1), 16, 200, fit);
    CHECK(thin.width == 16);
    CHECK(thin.height == 200);
    CHECK(thin.rgb.size() == std::size_t{3} * 16 * 200);
    CHECK(fitting_memory(places(200, 1), 16, 200, fit) >= std::int64_t{3} * 16 * 200);
  }
  for (const std::string_view name : fit_names) CHECK(to_string(*fit_named(name)) == name);
  CHECK_FALSE(fit_named("squeeze"));
}

}  // namespace picture_fit
