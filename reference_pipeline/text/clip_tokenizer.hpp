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

/// CLIP's tokenizer as transformers 5 runs it: NFC, runs of white space to one space, lower case character by
/// character; then words by a regular expression, their bytes as printable characters, and byte pairs merged,
/// the best rank first.
class ClipTokenizer : public Tokenizer {
 public:
  /// Reads tokenizer.json, or vocab.json and merges.txt, and the small files beside them. Throws InputError
  /// that names the file.
  static ClipTokenizer load(const std::filesystem::path& folder);

  /// The tokens that an encoder of so many positions takes: 77 where no file says another length.
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
  std::array<std::optional<std::int32_t>, 256> byte_ids_;       // of a byte inside a word
  std::array<std::optional<std::int32_t>, 256> last_byte_ids_;  // of a byte that ends one
  std::int32_t unknown_id_ = 0;
};

}  // namespace precast::text
