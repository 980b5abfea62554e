// Added tokens: strings such as <|endoftext|> that are a single token anywhere in a text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// A token that is matched in the text before tokenization, with the semantics of the tokenizers
/// library.
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< only between non-word characters
  bool left_strip = false;   ///< also matches spaces before it
  bool right_strip = false;  ///< also matches spaces after it
  bool normalized = false;   ///< matched in the normalised text, not in the original
  std::int32_t id = -1;
};

/// Normalises text for the vocabulary.
using Normalizer = std::function<std::string(std::string_view)>;

/// A set of added tokens, and the splitting of texts at them.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// The tokens' contents must differ; a token with empty content is never found.
  AddedTokens(std::vector<AddedToken> tokens, Normalizer normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  /// Splits a text (valid UTF-8) at added tokens, from the left, longest match first: the original text,
  /// then the other parts after normalisation. Calls one of the two functions for each part, in order.
  void cut(std::string_view text, const std::function<void(std::int32_t)>& on_token,
           const std::function<void(std::string_view)>& on_text) const;

  /// The text with each token that was learnt as several (textual inversion: "<cat>", "<cat>_1", "<cat>_2"
  /// …) followed by the other ones.
  std::string with_learnt_tokens(std::string_view text) const;

 private:
  struct Pattern {
    std::string content;
    std::size_t token;

    char first() const { return content[0]; }
  };
  using Patterns = std::vector<Pattern>;

  void cut_at(const Patterns& patterns, std::string_view text,
              const std::function<void(std::int32_t)>& on_token,
              const std::function<void(std::string_view)>& on_text) const;
  static const Pattern* longest_at(const Patterns& patterns, std::string_view text);

  std::vector<AddedToken> tokens_;
  Normalizer normalizer_;
  Patterns written_;     // sorted by first byte, then longest first
  Patterns normalized_;  // sorted likewise
};

}  // namespace precast::text
