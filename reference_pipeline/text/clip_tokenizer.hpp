// ClipTokenizer: text to the token ids of CLIP's byte-level BPE.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <text/tokenizer_added_tokens.hpp>

namespace precast::text {

/// CLIP's tokenizer as transformers 5 runs it: NFC, runs of white space to one space, lower case character by
/// character; then words by a regular expression, their bytes as printable characters, and byte pairs merged,
/// the best rank first.
class ClipTokenizer {
 public:
  /// Reads tokenizer.json, or vocab.json and merges.txt, and the small files beside them. Throws InputError
  /// that names the file.
  static ClipTokenizer load(const std::filesystem::path& folder);

  /// The ids of a text between the start and the end token, at most `max_length` with them. Text that is not
  /// UTF-8 gets U+FFFD for the bytes that are not. Throws InputError where `max_length` is below 2.
  std::vector<std::int32_t> encode(std::string_view text, int max_length) const;

  /// The text with each added token that was learnt as several followed by the others (AddedTokens).
  std::string with_learnt_tokens(std::string_view text) const { return added_.with_learnt_tokens(text); }

  /// What shorter texts are filled up with.
  std::int32_t pad_id() const { return pad_id_; }
  std::int32_t end_id() const { return end_id_; }
  /// The length that tokenizer_config.json names, if any.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }

 private:
  using Vocabulary = std::unordered_map<std::string, std::int32_t>;
  struct Merge {
    std::uint32_t rank = 0;
    std::int32_t result = 0;
  };

  ClipTokenizer() = default;
  void set_vocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary,
                      const std::vector<std::pair<std::string, std::string>>& merges);
  void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const;
  void append_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  std::optional<Merge> merge_of(std::int32_t left, std::int32_t right) const;

  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<std::optional<std::int32_t>, 256> byte_ids_;       // of a byte inside a word
  std::array<std::optional<std::int32_t>, 256> last_byte_ids_;  // of a byte that ends one
  AddedTokens added_;
  std::int32_t start_id_ = 0, end_id_ = 0, pad_id_ = 0, unknown_id_ = 0;
  std::optional<std::int64_t> model_max_length_;
};

}  // namespace precast::text
