// Tokenizer: the common part of text encoders' tokenizers. Added and special tokens, padding, truncation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <text/tokenizer_added_tokens.hpp>
#include <text/tokenizer_settings.hpp>

namespace precast::text {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The ids of a text with the special tokens at its ends, at most `max_length` in all. Each byte that is
  /// not valid UTF-8 is replaced by U+FFFD. Throws InputError if `max_length` has no room for the special
  /// tokens.
  std::vector<std::int32_t> encode(std::string_view text, int max_length) const;

  /// The ids of a prompt, as in diffusers' pipelines: added tokens learnt as several (textual inversion)
  /// are expanded first, and fewer ids than `padding` are padded to that length.
  std::vector<std::int32_t> prompt_ids(std::string_view prompt, int max_length, int padding = 0) const;

  /// The text with each added token that was learnt as several followed by the rest (AddedTokens).
  std::string with_learnt_tokens(std::string_view text) const { return added_.with_learnt_tokens(text); }

  /// The length limit in the tokenizer's files, if any.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }

 protected:
  /// `name`: for messages.
  explicit Tokenizer(std::string_view name) : name_(name) {}
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;

  /// Sets added tokens, special tokens and the length limit from the tokenizer's files in `folder`.
  void set_tokens(const std::vector<AddedToken>& added, Normalizer normalizer,
                  const TokenizerSettings& settings, const std::filesystem::path& folder);

  std::optional<std::int32_t> start_id_;  ///< if texts begin with a special token
  std::optional<std::int64_t> model_max_length_;

 private:
  /// Appends the ids of normalised text between two added tokens.
  virtual void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const = 0;

  std::string_view name_;
  AddedTokens added_;
  std::int32_t end_id_ = 0, pad_id_ = 0;
};

/// Throws InputError if an id is outside the vocabulary of the encoder in `encoder`, the folder with its
/// config.json.
void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size);

}  // namespace precast::text
