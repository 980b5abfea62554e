#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include <text/tokenizer_unicode.hpp>
#include <utf8proc.h>

#include <precast/error.hpp>

namespace precast::text {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

void append(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &code);
    const auto taken = length > 0 ? static_cast<std::size_t>(length) : 1;
    if (length > 0)
      result += text.substr(0, taken);
    else
      append(result, 0xfffd);
    text.remove_prefix(taken);
  }
  return result;
}

Character first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto length = utf8proc_iterate(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (length <= 0) return {0xfffd, 1};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(length)};
}

std::string composed(std::string_view text) {
  utf8proc_uint8_t* output = nullptr;
  const auto length = utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &output,
                                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(output, &std::free);
  if (length < 0)
    throw InputError("the prompt cannot be normalised: " + std::string(utf8proc_errmsg(length)));
  return {reinterpret_cast<const char*>(output), static_cast<std::size_t>(length)};
}

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    append(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))));
    // The one character whose lower case is longer than one: i and a dot above, which utf8proc leaves out.
    if (character.code == 0x130) append(result, 0x307);
    text.remove_prefix(character.bytes);
  }
  return result;
}

bool is_space(char32_t code) {
  if ((code >= 0x09 && code <= 0x0d) || code == 0x85) return true;
  const utf8proc_category_t kind = category(code);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_letter(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_word(char32_t code) {
  const utf8proc_category_t kind = category(code);
  const bool mark = kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
  const bool joiner = code == 0x200c || code == 0x200d;
  return is_letter(code) || mark || joiner || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_PC;
}

std::vector<std::string_view> graphemes(std::string_view text) {
  std::vector<std::string_view> result;
  utf8proc_int32_t state = 0;
  char32_t previous = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (at != 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                                    static_cast<utf8proc_int32_t>(character.code), &state)) {
      result.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    previous = character.code;
    at += character.bytes;
  }
  if (begin < text.size()) result.push_back(text.substr(begin));
  return result;
}

}  // namespace precast::text
