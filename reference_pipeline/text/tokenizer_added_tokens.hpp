// Added tokens: strings such as <|endoftext|> that are one token wherever they stand in a text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::text {

/// A token that is looked for in the text before the tokenizer proper sees it, as the tokenizers library has
/// it.
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< only where no word character touches it
  bool left_strip = false;   ///< takes the spaces before it along
  bool right_strip = false;  ///< takes the spaces after it along
  bool normalized = false;   ///< looked for in the normalised text, not in the text as it was written
  std::int32_t id = -1;
};

/// Turns text into the form that the vocabulary is in.
using Normalizer = std::function<std::string(std::string_view)>;

/// A set of added tokens, and the cutting of texts at them.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// The tokens' contents must differ; a token without content is never found.
  AddedTokens(std::vector<AddedToken> tokens, Normalizer normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  /// Cuts a text (valid UTF-8) at added tokens, from the left, the longest first: first as it is written,
  /// then each rest as the normaliser gives it. Calls one of the two for each part, in order.
  void cut(std::string_view text, const std::function<void(std::int32_t)>& on_token,
           const std::function<void(std::string_view)>& on_text) const;

  /// The text with each token that was learnt as several (textual inversion: "<cat>", "<cat>_1", "<cat>_2" …)
  /// followed by the others.
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
  Patterns written_;     // sorted: by first byte, then the longest first
  Patterns normalized_;  // the same
};

}  // namespace precast::text
