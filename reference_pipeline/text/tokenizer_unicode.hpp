// Unicode operations for tokenizers, through utf8proc: valid UTF-8, NFC, lower case, character classes,
// graphemes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// The text as valid UTF-8: each byte that is not part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);

/// The first character of valid, non-empty UTF-8, and its length in bytes.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Character first_character(std::string_view text);

/// Valid UTF-8 in canonical composition (NFC) by the tables of Unicode 9, as in the tokenizers library.
std::string composed(std::string_view text);

/// Valid UTF-8 in lower case, character by character: no final sigma, and U+0130 becomes two characters.
std::string lower_case(std::string_view text);

/// The property White_Space.
bool is_space(char32_t code);
/// General category L.
bool is_letter(char32_t code);
/// General category N.
bool is_number(char32_t code);
/// A word character, \w in regular expressions: letters, marks, numbers, connectors such as '_'.
bool is_word(char32_t code);

/// Splits valid UTF-8 into extended grapheme clusters.
std::vector<std::string_view> graphemes(std::string_view text);

}  // namespace precast::text
