// The contact sheet: where pictures and text land, and that no text or size breaks it.
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <image/contact_sheet.hpp>
#include <image/font.hpp>

using namespace precast::image;

namespace {

Image plain(int width, int height, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), {red, green, blue});
  return image;
}

int count_color(const Image& image, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  int count = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3)
    count += image.rgb[i] == red && image.rgb[i + 1] == green && image.rgb[i + 2] == blue;
  return count;
}

/// Pixels as dark as text.
int dark(const Image& image) {
  int count = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3)
    count += image.rgb[i] < 100 && image.rgb[i + 1] < 100 && image.rgb[i + 2] < 100;
  return count;
}

SheetCell red_cell(std::vector<std::string> captions) {
  return {plain(64, 64, 220, 40, 40), std::move(captions)};
}

}  // namespace

TEST_CASE("the font's printable characters are all different, and only the space is blank") {
  std::set<std::string> seen;
  for (char c = ' '; c <= '~'; ++c) {
    std::string shape;
    for (int y = 0; y < font::height; ++y)
      for (int x = 0; x < font::width; ++x) shape += font::ink(c, x, y) ? '#' : '.';
    CHECK((shape.find('#') == std::string::npos) == (c == ' '));
    CHECK(seen.insert(shape).second);
  }
  CHECK(seen.size() == 95);
}

TEST_CASE("every picture is on the sheet whole, enlarged by a whole factor") {
  const std::vector<SheetCell> cells = {red_cell({"one"}),
                                        {plain(64, 64, 40, 170, 60), {"two", "PSNR 31.4 dB", "0.42 s"}},
                                        {plain(64, 32, 40, 80, 220), {}}};
  const Image sheet = contact_sheet("title", cells);
  check_pixels(sheet, "test");
  const std::vector<std::vector<std::string>> captions{{"one"}, {"two", "PSNR 31.4 dB", "0.42 s"}, {}};
  CHECK(contact_sheet_size("title", 64, 64, captions).width == sheet.width);
  CHECK(contact_sheet_size("title", 64, 64, captions).height == sheet.height);
  CHECK_THROWS_WITH(contact_sheet_size("title", 16384, 8, captions),
                    Catch::Contains("pixels is too large") && !Catch::Contains("x1 pixels"));
  CHECK(count_color(sheet, 220, 40, 40) == 256 * 256);
  CHECK(count_color(sheet, 40, 170, 60) == 256 * 256);
  CHECK(count_color(sheet, 40, 80, 220) == 256 * 128);
  CHECK(sheet.width > 3 * 256);
  CHECK(contact_sheet("title", cells, 1).width < 2 * 256);
  CHECK(contact_sheet("title", cells, 1).height > 2 * sheet.height);
}

TEST_CASE("large pictures keep their size") {
  const std::vector<SheetCell> cells = {{plain(700, 300, 1, 200, 3), {"wide"}}};
  CHECK(count_color(contact_sheet("", cells), 1, 200, 3) == 700 * 300);
}

TEST_CASE("captions and title are drawn, and grow the sheet") {
  const Image bare = contact_sheet("", std::vector{red_cell({})});
  const Image titled = contact_sheet("a title", std::vector{red_cell({})});
  const Image captioned =
      contact_sheet("a title", std::vector{red_cell({"fast", "bf16 and flash attention"})});
  CHECK(dark(bare) == 0);
  CHECK(dark(titled) > 100);
  CHECK(dark(captioned) > 2 * dark(titled));
  CHECK(bare.height < titled.height);
  CHECK(titled.height < captioned.height);
}

TEST_CASE("long and odd texts are broken into lines and cut, never beyond the sheet") {
  const std::string long_word(500, 'W');
  std::string words;
  for (int i = 0; i < 400; ++i) words += "word ";
  for (const std::string& text :
       {long_word, words, std::string("caf\u00e9 \u732b \U0001f408"), std::string("\xff\xfe\x80"),
        std::string(40, ' '), std::string("a\nb\tc"), std::string("a\0b", 3)}) {
    const Image sheet = contact_sheet(text, std::vector{red_cell({text, text}), red_cell({})});
    CHECK(count_color(sheet, 220, 40, 40) == 2 * 256 * 256);
    CHECK(sheet.height < 1000);
  }
}

TEST_CASE("one pixel makes a sheet") {
  const Image sheet = contact_sheet("x", std::vector<SheetCell>{{plain(1, 1, 9, 200, 9), {"dot"}}});
  CHECK(count_color(sheet, 9, 200, 9) == 256 * 256);
}

TEST_CASE("no pictures, and too many, are refused") {
  CHECK_THROWS_AS(contact_sheet("x", {}), precast::InputError);
  CHECK_THROWS_AS(contact_sheet("x", std::vector<SheetCell>{{Image{}, {}}}), precast::ShapeError);
  const std::vector<SheetCell> wide(8, {plain(2100, 1, 0, 0, 0), {}});
  CHECK_THROWS_AS(contact_sheet("x", wide, 8), precast::InputError);
  CHECK_NOTHROW(contact_sheet("x", wide, 2));
}
