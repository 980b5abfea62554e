#include <text/tokenizer_charsmap.hpp>
#include <text/tokenizer_unicode.hpp>

#include <precast/io/message.hpp>

namespace precast::text {
namespace {

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 4; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
  return word;
}

// A unit of the trie, in darts-clone's format.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7fffffffu; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000ffu; }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200u) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::filesystem::path& path) {
  if (bytes.empty()) return;
  const std::size_t size = bytes.size() < 4 ? 0 : word_at(bytes, 0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4)
    throw io::file_error(path, "the normaliser's table is broken: get the file again");
  for (std::size_t at = 4; at < 4 + size; at += 4) trie_.push_back(word_at(bytes, at));
  replacements_ = bytes.substr(4 + size);
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t node = offset_of(trie_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= trie_.size() || label_of(trie_[node]) != byte) return std::nullopt;
    const bool found = has_leaf(trie_[node]);
    node ^= offset_of(trie_[node]);
    if (!found) continue;
    const std::size_t begin = node < trie_.size() ? value_of(trie_[node]) : replacements_.size();
    if (begin >= replacements_.size()) return std::string_view();
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

std::string Charsmap::apply(std::string_view text) const {
  if (empty()) return std::string(text);
  constexpr std::size_t longest_whole = 5;
  std::string result;
  for (std::string_view grapheme : graphemes(text)) {
    if (grapheme.size() <= longest_whole) {
      // The rest of the grapheme is dropped when its prefix is replaced: the tokenizers library does so,
      // and models were trained with its output.
      if (const auto whole = replacement(grapheme)) {
        result += *whole;
        continue;
      }
    }
    while (!grapheme.empty()) {
      const std::string_view character = grapheme.substr(0, first_character(grapheme).bytes);
      result += replacement(character).value_or(character);
      grapheme.remove_prefix(character.size());
    }
  }
  return valid_utf8(result);
}

}  // namespace precast::text
