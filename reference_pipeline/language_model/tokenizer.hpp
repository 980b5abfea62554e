// Tokenizer for training texts: bytes, or the characters that occur in a text.
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
  /// One token per byte: 256 tokens, for any file.
  static Tokenizer of_bytes() { return Tokenizer(); }
  /// One token per distinct character of a UTF-8 text, in order of code points. `name` is for messages.
  /// Throws InputError if the text is not UTF-8.
  static Tokenizer of_characters(std::string_view text, const std::string& name);
  /// Parses the output of json(). Throws InputError that names the file.
  static Tokenizer from_json(std::string_view text, const std::filesystem::path& file);

  bool is_of_bytes() const { return characters_.empty(); }
  std::int64_t size() const {
    return characters_.empty() ? 256 : static_cast<std::int64_t>(characters_.size());
  }
  /// The tokens of a text. Throws InputError with the position of a character that has no token.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& name) const;
  /// The text of tokens; incomplete characters remain as bytes.
  std::string decode(std::span<const std::int32_t> tokens) const;
  std::string json() const;

 private:
  std::vector<char32_t> characters_;  ///< sorted; empty: bytes
};

}  // namespace precast::language_model
