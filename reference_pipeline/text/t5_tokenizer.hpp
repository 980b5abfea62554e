// T5Tokenizer: text to the token ids of T5's unigram vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <text/t5_vocabulary.hpp>
#include <text/tokenizer_added_tokens.hpp>
#include <text/tokenizer_settings.hpp>
#include <text/tokenizer_unigram.hpp>

namespace precast::text {

/// T5's tokenizer as transformers 5 runs it: the vocabulary's own normalisation, words at white space, each
/// with U+2581 before it, and the most probable pieces of each word.
class T5Tokenizer {
 public:
  /// Reads a folder's tokenizer.json, or spiece.model, and the small files beside them, or what a GGUF file
  /// of T5 has inside (is_gguf_with_tokenizer). Throws InputError that names the file.
  static T5Tokenizer load(const std::filesystem::path& path);

  /// The ids of a text and the end token, at most `max_length` with it. Text that is not UTF-8 gets U+FFFD
  /// for the bytes that are not. Throws InputError where `max_length` is below 1.
  std::vector<std::int32_t> encode(std::string_view text, int max_length) const;

  /// The text with each added token that was learnt as several followed by the others (AddedTokens).
  std::string with_learnt_tokens(std::string_view text) const { return added_.with_learnt_tokens(text); }

  /// What shorter texts are filled up with.
  std::int32_t pad_id() const { return pad_id_; }
  std::int32_t end_id() const { return end_id_; }
  /// The length that tokenizer_config.json or the GGUF file names, if any.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }

 private:
  T5Tokenizer(T5Vocabulary vocabulary, const TokenizerSettings& settings, const std::filesystem::path& path);
  void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const;

  UnigramModel model_;
  AddedTokens added_;
  std::int32_t end_id_ = 0, pad_id_ = 0;
  std::optional<std::int64_t> model_max_length_;
};

}  // namespace precast::text
