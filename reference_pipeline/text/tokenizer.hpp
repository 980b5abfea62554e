// Tokenizer: what the tokenizers of text encoders share. Added and special tokens, padding, and what is cut.
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

  /// The ids of a text with the special tokens at its ends, at most `max_length` with them. Text that is not
  /// UTF-8 gets U+FFFD for the bytes that are not. Throws InputError where `max_length` has no room for the
  /// special ones.
  std::vector<std::int32_t> encode(std::string_view text, int max_length) const;

  /// The same of a prompt, as diffusers' pipelines ask a tokenizer for it: added tokens that were learnt as
  /// several (textual inversion) are written out first, and fewer ids than `padding` are filled up to it.
  std::vector<std::int32_t> prompt_ids(std::string_view prompt, int max_length, int padding = 0) const;

  /// The text with each added token that was learnt as several followed by the others (AddedTokens).
  std::string with_learnt_tokens(std::string_view text) const { return added_.with_learnt_tokens(text); }

  /// What shorter texts are filled up with.
  std::int32_t pad_id() const { return pad_id_; }
  std::int32_t end_id() const { return end_id_; }
  /// The length that the tokenizer's files name, if any.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }

 protected:
  /// `name` is for messages.
  explicit Tokenizer(std::string_view name) : name_(name) {}
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;

  /// Takes added tokens, their special ones and the longest text from the tokenizer's files in `folder`.
  void set_tokens(const std::vector<AddedToken>& added, Normalizer normalizer,
                  const TokenizerSettings& settings, const std::filesystem::path& folder);

  std::optional<std::int32_t> start_id_;  ///< where texts have a token before them
  std::optional<std::int64_t> model_max_length_;

 private:
  /// Appends the ids of normalised text between added tokens.
  virtual void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const = 0;

  std::string_view name_;
  AddedTokens added_;
  std::int32_t end_id_ = 0, pad_id_ = 0;
};

/// Throws InputError where the embedding of the encoder in `encoder`, with its config.json, has no row for
/// one of the ids.
void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size);

}  // namespace precast::text
