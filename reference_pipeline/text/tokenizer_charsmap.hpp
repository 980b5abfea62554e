// Charsmap: the normalisation table of a sentencepiece vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// A precompiled character map in sentencepiece's format: a double-array trie (u32 little endian), then the
/// replacements, NUL-terminated. Applied as in the tokenizers library.
class Charsmap {
 public:
  /// An empty map changes nothing.
  Charsmap() = default;
  /// Throws InputError that names `path` if the sizes are inconsistent.
  Charsmap(std::string_view bytes, const std::filesystem::path& path);

  bool empty() const { return trie_.empty(); }

  /// Valid UTF-8 with each grapheme shorter than 6 bytes, or else each of its characters, replaced by the
  /// map. The result is valid UTF-8 for any map.
  std::string apply(std::string_view text) const;

 private:
  /// The replacement for the shortest prefix of `text` in the map.
  std::optional<std::string_view> replacement(std::string_view text) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
};

}  // namespace precast::text
