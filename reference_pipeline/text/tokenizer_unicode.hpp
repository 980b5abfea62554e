// What the tokenizers need of Unicode, through utf8proc: valid UTF-8, NFC, lower case, character classes,
// graphemes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// The same text as valid UTF-8: each byte that belongs to no character becomes U+FFFD.
std::string valid_utf8(std::string_view text);

/// The character at the start of valid, non-empty UTF-8, and the bytes that it takes.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Character first_character(std::string_view text);

/// Valid UTF-8 in canonical composition (NFC) by the tables of Unicode 9, as the tokenizers library has it.
std::string composed(std::string_view text);

/// Valid UTF-8 in lower case, each character by itself: no final sigma, and U+0130 becomes two characters.
std::string lower_case(std::string_view text);

/// Unicode's White_Space.
bool is_space(char32_t code);
/// General category L.
bool is_letter(char32_t code);
/// General category N.
bool is_number(char32_t code);
/// What a regular expression's \w takes: letters, marks, numbers, connectors such as '_'.
bool is_word(char32_t code);

/// Valid UTF-8 cut into extended grapheme clusters: what a reader takes for one character.
std::vector<std::string_view> graphemes(std::string_view text);

}  // namespace precast::text
