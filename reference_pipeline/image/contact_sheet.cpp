#include <algorithm>
#include <cmath>
#include <string_view>

#include <image/contact_sheet.hpp>
#include <image/font.hpp>

#include <precast/dtype/host_device.hpp>

namespace precast::image {
namespace {

constexpr int enlarged_side = 256;  // smaller pictures are enlarged to about this size
constexpr std::size_t most_title_lines = 4;
constexpr std::size_t most_caption_lines = 8;

struct Color {
  std::uint8_t red, green, blue;
};
constexpr Color paper{247, 247, 245}, dark_ink{20, 20, 20}, grey_ink{90, 90, 90}, frame{205, 205, 200};

void fill(Image& sheet, int left, int top, int width, int height, Color color) {
  for (int y = top; y < top + height; ++y) {
    for (int x = left; x < left + width; ++x) {
      std::uint8_t* pixel =
          sheet.rgb.data() + channels * (static_cast<std::size_t>(y) * static_cast<std::size_t>(sheet.width) +
                                         static_cast<std::size_t>(x));
      pixel[0] = color.red;
      pixel[1] = color.green;
      pixel[2] = color.blue;
    }
  }
}

void draw_line(Image& sheet, int left, int top, int scale, std::string_view text, Color color) {
  for (const char c : text) {
    for (int y = 0; y < font::height; ++y)
      for (int x = 0; x < font::width; ++x)
        if (font::ink(c, x, y)) fill(sheet, left + x * scale, top + y * scale, scale, scale, color);
    left += font::advance * scale;
  }
}

void draw_picture(Image& sheet, int left, int top, int scale, const Image& image) {
  const std::uint8_t* pixel = image.rgb.data();
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x, pixel += channels)
      fill(sheet, left + x * scale, top + y * scale, scale, scale, {pixel[0], pixel[1], pixel[2]});
}

/// Replaces each UTF-8 character that the font lacks by '?'.
std::string ascii(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    result += c == '\n' || c == '\t' ? ' ' : c >= ' ' && c <= '~' ? c : '?';
  }
  return result;
}

/// Breaks a text into lines of at most `longest` characters, at spaces if possible; after `most` lines it
/// ends in dots.
std::vector<std::string> broken(const std::string& text, std::size_t longest, std::size_t most) {
  std::vector<std::string> lines;
  std::string rest = ascii(text);
  while (!rest.empty() && lines.size() < most) {
    std::size_t length = std::min(rest.size(), longest);
    if (length < rest.size()) {
      const std::size_t space = rest.rfind(' ', length);
      if (space != std::string::npos && space > 0) length = space;
    }
    lines.push_back(rest.substr(0, length));
    rest.erase(0, std::min(rest.find_first_not_of(' ', length), rest.size()));
  }
  if (!rest.empty()) {
    std::string& last = lines.back();
    last.resize(std::min(last.size(), longest - std::min<std::size_t>(longest, 3)));
    last += "...";
  }
  return lines;
}

std::size_t characters_that_fit(int width, int scale) {
  return static_cast<std::size_t>(std::max((width + scale) / (font::advance * scale), 1));
}

int columns_for(int count) { return count <= 4 ? count : static_cast<int>(std::ceil(std::sqrt(count))); }

/// A line of a caption; names are bold.
struct TextLine {
  std::string text;
  bool is_name = false;
};

/// The content that determines a cell's size.
struct CellContent {
  int width = 0, height = 0;
  std::span<const std::string> captions;
};

std::vector<TextLine> text_lines(const CellContent& cell, std::size_t longest) {
  std::vector<TextLine> lines;
  for (std::size_t i = 0; i < cell.captions.size(); ++i)
    for (std::string& line : broken(cell.captions[i], longest, most_caption_lines))
      lines.push_back({std::move(line), i == 0});
  return lines;
}

/// The positions of all parts of a sheet.
struct Layout {
  int picture_scale = 1, text_scale = 1;
  int columns = 1, cell_width = 0, picture_height = 0;
  int margin = 0, line_height = 0;

  Layout(std::span<const CellContent> cells, int wanted_columns) {
    int widest = 1, highest = 1;
    for (const CellContent& cell : cells) {
      widest = std::max(widest, cell.width);
      highest = std::max(highest, cell.height);
    }
    const int count = static_cast<int>(cells.size());
    columns = std::clamp(wanted_columns > 0 ? wanted_columns : columns_for(count), 1, count);
    picture_scale = std::max(1, enlarged_side / std::max(widest, highest));
    cell_width = std::max(widest * picture_scale, enlarged_side / 2);
    picture_height = highest * picture_scale;
    text_scale = std::clamp((cell_width + 128) / 192, 1, 6);
    margin = 10 * text_scale;
    line_height = font::spacing * text_scale;
  }
  int text_height(std::size_t lines) const { return static_cast<int>(lines) * line_height; }
};

/// A layout and its texts, broken into lines.
struct Plan {
  Layout layout;
  SheetSize size;
  std::vector<std::string> title_lines;
  std::vector<std::vector<TextLine>> texts;
  std::vector<std::int64_t> tops;  ///< of the rows, and of the end
};

Plan planned(const std::string& title, std::span<const CellContent> cells, int columns) {
  if (cells.empty()) throw InputError("a contact sheet needs at least one picture");
  const Layout layout(cells, columns);
  const auto across = static_cast<std::size_t>(layout.columns);
  const std::size_t rows = ceil_divide(cells.size(), across);
  const std::int64_t width =
      std::int64_t{layout.columns} * (layout.cell_width + layout.margin) + layout.margin;
  const auto title_lines =
      broken(title, characters_that_fit(static_cast<int>(width) - 2 * layout.margin, layout.text_scale),
             most_title_lines);
  const int title_height = title_lines.empty() ? 0 : layout.text_height(title_lines.size()) + layout.margin;
  std::vector<std::vector<TextLine>> texts;
  std::vector<std::int64_t> tops = {layout.margin + title_height};
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t most_lines = 0;
    for (std::size_t i = row * across; i < std::min((row + 1) * across, cells.size()); ++i) {
      texts.push_back(text_lines(cells[i], characters_that_fit(layout.cell_width, layout.text_scale)));
      most_lines = std::max(most_lines, texts.back().size());
    }
    const int text_height = most_lines == 0 ? 0 : layout.text_height(most_lines) + layout.margin * 7 / 10;
    tops.push_back(tops.back() + layout.picture_height + text_height + layout.margin);
  }
  if (!allowed_size(width, tops.back()))
    throw InputError("a contact sheet of " + std::to_string(width) + "x" + std::to_string(tops.back()) +
                     " pixels is too large, its sides have at most " + std::to_string(max_side) +
                     ": compare fewer or smaller pictures");
  return {layout,
          {static_cast<int>(width), static_cast<int>(tops.back())},
          title_lines,
          std::move(texts),
          std::move(tops)};
}

}  // namespace

SheetSize contact_sheet_size(const std::string& title, int width, int height,
                             std::span<const std::vector<std::string>> captions, int columns) {
  std::vector<CellContent> contents;
  for (const std::vector<std::string>& lines : captions) contents.push_back({width, height, lines});
  return planned(title, contents, columns).size;
}

Image contact_sheet(const std::string& title, std::span<const SheetCell> cells, int columns) {
  std::vector<CellContent> contents;
  for (const SheetCell& cell : cells) {
    check_pixels(cell.image, "contact_sheet");
    contents.push_back({cell.image.width, cell.image.height, cell.captions});
  }
  const auto [layout, size, title_lines, texts, tops] = planned(title, contents, columns);
  const auto across = static_cast<std::size_t>(layout.columns);
  Image sheet{size.width, size.height, {}};
  sheet.rgb.resize(channels * static_cast<std::size_t>(sheet.width) * static_cast<std::size_t>(sheet.height));
  fill(sheet, 0, 0, sheet.width, sheet.height, paper);
  for (std::size_t i = 0; i < title_lines.size(); ++i)
    draw_line(sheet, layout.margin, layout.margin + layout.text_height(i), layout.text_scale, title_lines[i],
              dark_ink);
  const int bold = (layout.text_scale + 1) / 2;  // a bold line is drawn twice with this offset
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Image& image = cells[i].image;
    const int left = layout.margin + static_cast<int>(i % across) * (layout.cell_width + layout.margin);
    const int top = static_cast<int>(tops[i / across]);
    const int picture_width = image.width * layout.picture_scale,
              picture_height = image.height * layout.picture_scale;
    const int picture_left = left + (layout.cell_width - picture_width) / 2;
    fill(sheet, picture_left - 1, top - 1, picture_width + 2, picture_height + 2, frame);
    draw_picture(sheet, picture_left, top, layout.picture_scale, image);
    int text_top = top + layout.picture_height + layout.margin * 7 / 10;
    for (const TextLine& line : texts[i]) {
      draw_line(sheet, left, text_top, layout.text_scale, line.text, line.is_name ? dark_ink : grey_ink);
      if (line.is_name) draw_line(sheet, left + bold, text_top, layout.text_scale, line.text, dark_ink);
      text_top += layout.line_height;
    }
  }
  return sheet;
}

}  // namespace precast::image
