// T5Tokenizer: text to the token ids of T5's unigram vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <text/t5_vocabulary.hpp>
#include <text/tokenizer.hpp>
#include <text/tokenizer_settings.hpp>
#include <text/tokenizer_unigram.hpp>

namespace precast::text {

/// T5's tokenizer as in transformers 5: the vocabulary's normalisation, words split at white space and
/// prefixed with U+2581, and the most probable pieces of each word.
class T5Tokenizer : public Tokenizer {
 public:
  /// Reads a folder's tokenizer.json, or spiece.model, and the tokenizer's other config files, or the
  /// vocabulary in a T5 GGUF file (is_gguf_with_tokenizer). Throws InputError that names the file.
  static T5Tokenizer load(const std::filesystem::path& path);

 private:
  T5Tokenizer(T5Vocabulary vocabulary, TokenizerSettings settings, const std::filesystem::path& path);
  void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const override;

  UnigramModel model_;
};

}  // namespace precast::text
