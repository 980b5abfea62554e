// T5Vocabulary: pieces and their scores, from each supported kind of file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <text/tokenizer_unigram.hpp>

#include <precast/io/config.hpp>
#include <precast/io/gguf.hpp>

namespace precast::text {

/// T5's unigram vocabulary in a file. Readers throw InputError that names the file.
struct T5Vocabulary {
  std::filesystem::path path;
  std::vector<ScoredPiece> pieces;  ///< indexed by id
  std::string charsmap;             ///< the bytes of a Charsmap
  std::vector<std::string> added;   ///< added tokens, matched in the original text
  std::string end_piece = "</s>", pad_piece = "<pad>";
  std::optional<std::int64_t> longest_text;  ///< in tokens, if the file says so

  /// As in transformers, whatever the file says.
  static constexpr std::int32_t unknown_id = 2;

  /// spiece.model, followed by `extra_ids` tokens <extra_id_N>.
  static T5Vocabulary of_spiece(const std::filesystem::path& path, std::int64_t extra_ids);
  /// tokenizer.json, which has all tokens.
  static T5Vocabulary of_json(const io::Config& json);
  /// The values tokenizer.ggml.* that llama.cpp's converter writes into a T5 GGUF file. Unused ids at the
  /// end of the vocabulary begin with `extra_ids` tokens <extra_id_N>, as in T5's own, or fewer if there is
  /// less room.
  static T5Vocabulary of_gguf(const io::GgufFile& file, std::int64_t extra_ids);

  /// Adds the first `count` tokens <extra_id_N>, which are pieces, to those matched in the original text.
  void look_for_extra_ids(std::int64_t count);

 private:
  void add_extra_ids(std::int64_t count);
  void check() const;
};

/// Whether the path is a GGUF file with a tokenizer. Throws InputError for a damaged GGUF file.
bool is_gguf_with_tokenizer(const std::filesystem::path& path);

}  // namespace precast::text
