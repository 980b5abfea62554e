// Charsmap: the table by which a sentencepiece vocabulary's texts are normalised.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// A precompiled character map, as sentencepiece stores it: the bytes of a double-array trie (u32 little
/// endian), then the replacements, each ended by a zero. Applied as the tokenizers library applies it.
class Charsmap {
 public:
  /// An empty map changes nothing.
  Charsmap() = default;
  /// Throws InputError that names `path` where the sizes do not fit together.
  Charsmap(std::string_view bytes, const std::filesystem::path& path);

  bool empty() const { return trie_.empty(); }

  /// Valid UTF-8 with each grapheme shorter than 6 bytes, else each character, replaced as the map says. The
  /// result is valid UTF-8 too, whatever the map holds.
  std::string apply(std::string_view text) const;

 private:
  /// The replacement of the shortest start of `text` that the map knows.
  std::optional<std::string_view> replacement(std::string_view text) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
};

}  // namespace precast::text
