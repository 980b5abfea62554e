// Tokenizer of texts to train on: bytes, or the characters that a text has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::language_model {

class Tokenizer {
 public:
  /// A token for each byte: 256 of them, for any file.
  static Tokenizer of_bytes() { return Tokenizer(); }
  /// A token for each character that a text in UTF-8 has, in the order of their code points. `name` is for
  /// messages. Throws InputError where the text is no UTF-8.
  static Tokenizer of_characters(std::string_view text, const std::string& name);
  /// What json() wrote. Throws InputError that names the file.
  static Tokenizer from_json(std::string_view text, const std::filesystem::path& file);

  bool is_of_bytes() const { return characters_.empty(); }
  std::int64_t size() const {
    return characters_.empty() ? 256 : static_cast<std::int64_t>(characters_.size());
  }
  /// The tokens of a text. Throws InputError, which says where, for a character that is not one.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& name) const;
  /// The text of tokens; those of half a character stay bytes.
  std::string decode(std::span<const std::int32_t> tokens) const;
  std::string json() const;

 private:
  std::vector<char32_t> characters_;  ///< sorted; none: bytes
};

}  // namespace precast::language_model
