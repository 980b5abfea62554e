// Converts texts of picture files between UTF-8, Latin-1 and UTF-16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::image {

/// Appends a code point in UTF-8.
void append_utf8(std::string& text, std::int32_t point);

/// The code points of a text; each byte that is not valid UTF-8 becomes U+FFFD.
std::vector<std::int32_t> code_points(std::string_view text);

std::string utf8_from_latin1(std::string_view text);

/// Big-endian UTF-16 without a byte order mark. Invalid UTF-8 becomes U+FFFD.
std::vector<std::byte> utf16_from_utf8(std::string_view text);

/// Unpaired surrogates become U+FFFD; an odd last byte is dropped.
std::string utf8_from_utf16(std::span<const std::byte> units, bool upper_byte_first);

}  // namespace precast::image
