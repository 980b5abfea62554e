#include <algorithm>
#include <array>
#include <utility>

#include <text/tokenizer_unicode.hpp>
#include <utf8proc.h>

namespace precast::text {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

/// Canonical composition, by rules that are stable across versions of Unicode.
constexpr auto composing = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

void append(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

/// Inclusive ranges.
template <std::size_t Count>
using Ranges = std::array<std::pair<char32_t, char32_t>, Count>;

template <std::size_t Count>
bool contains(const Ranges<Count>& ranges, char32_t code) {
  return std::ranges::any_of(ranges,
                             [&](const auto& range) { return code >= range.first && code <= range.second; });
}

/// Marks added after Unicode 9, the version by which the tokenizers library composes. It treats them like
/// letters, which neither combine nor are reordered.
constexpr Ranges<37> marks_after_unicode_9 = {{
    {0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
    {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},   {0x1df6, 0x1dfa},
    {0xa82c, 0xa82c},   {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
    {0x11930, 0x11930}, {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
    {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97},
    {0x11f41, 0x11f42}, {0x16ff0, 0x16ff1}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae},
    {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef},
}};

// The tokenizers library has classes of Unicode 16, and lower case and graphemes of Unicode 17; utf8proc
// 2.8 has Unicode 15.

/// Letters added in Unicode 15.1 and 16.
constexpr Ranges<22> letters_after_unicode_15 = {{
    {0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3}, {0x10d4a, 0x10d65},
    {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389}, {0x1138b, 0x1138b}, {0x1138e, 0x1138e},
    {0x11390, 0x113b5}, {0x113b7, 0x113b7}, {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0},
    {0x13460, 0x143fa}, {0x16100, 0x1611d}, {0x16d40, 0x16d6c}, {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed},
    {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d},
}};

/// Numbers added in Unicode 16, all of them digits.
constexpr Ranges<7> numbers_after_unicode_15 = {{
    {0x10d40, 0x10d49},
    {0x116d0, 0x116e3},
    {0x11bf0, 0x11bf9},
    {0x16130, 0x16139},
    {0x16d70, 0x16d79},
    {0x1ccf0, 0x1ccf9},
    {0x1e5f1, 0x1e5fa},
}};

/// Marks of up to three bytes added in Unicode 16 and 17. Those of four bytes have no effect: the
/// normaliser's table replaces clusters of up to five bytes (Charsmap), and has no one-byte letter that a
/// mark can follow.
constexpr Ranges<3> marks_after_unicode_15 = {{{0x897, 0x897}, {0x1acf, 0x1add}, {0x1ae0, 0x1aeb}}};

/// Capitals added in Unicode 16 and 17, and the lower case of the first in each range.
struct Capitals {
  char32_t first, last, lower_of_first;
};
constexpr std::array<Capitals, 10> capitals_after_unicode_15 = {{
    {0x1c89, 0x1c89, 0x1c8a},
    {0xa7cb, 0xa7cb, 0x264},
    {0xa7cc, 0xa7cc, 0xa7cd},
    {0xa7ce, 0xa7ce, 0xa7cf},
    {0xa7d2, 0xa7d2, 0xa7d3},
    {0xa7d4, 0xa7d4, 0xa7d5},
    {0xa7da, 0xa7da, 0xa7db},
    {0xa7dc, 0xa7dc, 0x19b},
    {0x10d50, 0x10d65, 0x10d70},
    {0x16ea0, 0x16eb8, 0x16ebb},
}};

char32_t lower_case_of(char32_t code) {
  for (const Capitals& range : capitals_after_unicode_15)
    if (code >= range.first && code <= range.last) return range.lower_of_first + (code - range.first);
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

/// Appends a character's canonical decomposition.
void append_decomposed(std::vector<utf8proc_int32_t>& codes, char32_t code) {
  constexpr std::size_t longest = 4;
  std::array<utf8proc_int32_t, longest> parts{};
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(), longest, composing, nullptr);
  codes.insert(codes.end(), parts.begin(), parts.begin() + count);
}

void append_composed(std::string& result, std::string_view text) {
  std::vector<utf8proc_int32_t> codes;
  while (!text.empty()) {
    const Character next = first_character(text);
    append_decomposed(codes, next.code);
    text.remove_prefix(next.bytes);
  }
  // utf8proc's own decomposition sorts marks by swapping neighbours, in quadratic time for long runs.
  const auto combining_class = [](utf8proc_int32_t code) {
    return utf8proc_get_property(code)->combining_class;
  };
  for (auto begin = codes.begin(); begin != codes.end();) {
    const auto end = std::find_if(begin, codes.end(), [&](auto code) { return combining_class(code) == 0; });
    std::ranges::stable_sort(begin, end, {}, combining_class);
    begin = end == codes.end() ? end : end + 1;
  }
  const auto count =
      utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), composing);
  codes.resize(static_cast<std::size_t>(count));
  for (const utf8proc_int32_t code : codes) append(result, static_cast<char32_t>(code));
}

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
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    const std::size_t end = at + next.bytes;
    if (contains(marks_after_unicode_9, next.code)) {
      append_composed(result, text.substr(begin, at - begin));
      result += text.substr(at, next.bytes);
      begin = end;
    }
    at = end;
  }
  append_composed(result, text.substr(begin));
  return result;
}

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    append(result, lower_case_of(character.code));
    // Only U+0130 has two characters in lower case, i and a dot above; utf8proc drops the latter.
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
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) ||
         contains(letters_after_unicode_15, code);
}

bool is_number(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO) ||
         contains(numbers_after_unicode_15, code);
}

bool is_word(char32_t code) {
  const utf8proc_category_t kind = category(code);
  const bool mark = kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
  const bool joiner = code == 0x200c || code == 0x200d;
  return is_letter(code) || mark || joiner || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_PC || contains(numbers_after_unicode_15, code);
}

std::vector<std::string_view> graphemes(std::string_view text) {
  constexpr utf8proc_int32_t any_mark = 0x301;
  std::vector<std::string_view> result;
  utf8proc_int32_t state = 0, previous = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const auto code = contains(marks_after_unicode_15, character.code)
                          ? any_mark
                          : static_cast<utf8proc_int32_t>(character.code);
    if (at != 0 && utf8proc_grapheme_break_stateful(previous, code, &state)) {
      result.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    previous = code;
    at += character.bytes;
  }
  if (begin < text.size()) result.push_back(text.substr(begin));
  return result;
}

}  // namespace precast::text
