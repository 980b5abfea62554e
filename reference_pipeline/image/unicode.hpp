// Texts of picture files in UTF-8, Latin-1 and UTF-16.
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

/// The code points of a text; a byte that is not part of UTF-8 becomes U+FFFD.
std::vector<std::int32_t> code_points(std::string_view text);

std::string utf8_from_latin1(std::string_view text);

/// UTF-16 without a mark of its order, the upper byte first. What is not UTF-8 becomes U+FFFD.
std::vector<std::byte> utf16_from_utf8(std::string_view text);

/// Half a pair of surrogates becomes U+FFFD; an odd last byte is dropped.
std::string utf8_from_utf16(std::span<const std::byte> units, bool upper_byte_first);

}  // namespace precast::image
