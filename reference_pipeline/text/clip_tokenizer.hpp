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

#include <text/tokenizer.hpp>

namespace precast::text {

/// CLIP's tokenizer as in transformers 5: NFC, runs of white space to one space, lower case by character;
/// then words by a regular expression, bytes as printable characters, and byte-pair merges, lowest rank
/// first.
class ClipTokenizer : public Tokenizer {
 public:
  /// Reads tokenizer.json, or vocab.json and merges.txt, and the tokenizer's other config files. Throws
  /// InputError that names the file.
  static ClipTokenizer load(const std::filesystem::path& folder);

  /// The sequence length for an encoder with so many positions: 77 unless a file says otherwise.
  int length(std::int64_t positions) const;

 private:
  using Vocabulary = std::unordered_map<std::string, std::int32_t>;
  struct Merge {
    std::uint32_t rank = 0;
    std::int32_t result = 0;
  };

  ClipTokenizer() : Tokenizer("CLIP") {}
  void set_vocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary,
                      const std::vector<std::pair<std::string, std::string>>& merges);
  void append_text(std::string_view normal, std::vector<std::int32_t>& ids) const override;
  void append_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  std::optional<Merge> merge_of(std::int32_t left, std::int32_t right) const;

  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<std::optional<std::int32_t>, 256> byte_ids_;       // for bytes inside a word
  std::array<std::optional<std::int32_t>, 256> last_byte_ids_;  // for the last byte of a word
  std::int32_t unknown_id_ = 0;
};

}  // namespace precast::text
