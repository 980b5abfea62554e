// Converts texts through utf8proc.
#include <array>

#include <image/unicode.hpp>
#include <utf8proc.h>

namespace precast::image {

void append_utf8(std::string& text, std::int32_t point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto count = static_cast<std::size_t>(utf8proc_encode_char(point, bytes.data()));
  text.append(reinterpret_cast<const char*>(bytes.data()), count);
}

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

std::vector<std::byte> utf16_from_utf8(std::string_view text) {
  std::vector<std::byte> bytes;
  const auto append_unit = [&](std::int32_t unit) {
    bytes.push_back(static_cast<std::byte>(unit >> 8));
    bytes.push_back(static_cast<std::byte>(unit & 0xff));
  };
  for (const std::int32_t point : code_points(text)) {
    if (point < 0x10000) {
      append_unit(point);
    } else {
      append_unit(0xd800 + ((point - 0x10000) >> 10));
      append_unit(0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }
  return bytes;
}

std::string utf8_from_utf16(std::span<const std::byte> units, bool upper_byte_first) {
  const std::size_t count = units.size() / 2;
  const auto unit = [&](std::size_t i) {
    const auto first = std::to_integer<std::int32_t>(units[2 * i]),
               second = std::to_integer<std::int32_t>(units[2 * i + 1]);
    return upper_byte_first ? first << 8 | second : second << 8 | first;
  };
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t upper = unit(i);
    const bool is_upper = upper >= 0xd800 && upper < 0xdc00;
    const std::int32_t lower = is_upper && i + 1 < count ? unit(i + 1) : 0;
    if (lower >= 0xdc00 && lower < 0xe000) {
      append_utf8(text, 0x10000 + ((upper - 0xd800) << 10) + (lower - 0xdc00));
      ++i;
    } else {
      append_utf8(text, upper >= 0xd800 && upper < 0xe000 ? 0xfffd : upper);
    }
  }
  return text;
}

}  // namespace precast::image
