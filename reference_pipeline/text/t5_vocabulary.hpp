// T5Vocabulary: pieces and their scores, from each kind of file that holds them.
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

/// What a file says of T5's unigram vocabulary. Readers throw InputError that names the file.
struct T5Vocabulary {
  std::filesystem::path path;
  std::vector<ScoredPiece> pieces;  ///< a piece's place is its id
  std::string charsmap;             ///< the bytes of a Charsmap
  std::vector<std::string> added;   ///< pieces that are looked for in the text as written
  std::string end_piece = "</s>", pad_piece = "<pad>";
  std::optional<std::int64_t> longest_text;  ///< in tokens, where the file says it

  /// transformers fixes it for T5, whatever a file says.
  static constexpr std::int32_t unknown_id = 2;

  /// spiece.model, and as many <extra_id_N> behind its pieces.
  static T5Vocabulary of_spiece(const std::filesystem::path& path, std::int64_t extra_ids);
  /// tokenizer.json, which has them all.
  static T5Vocabulary of_json(const io::Config& json);
  /// The values tokenizer.ggml.* that llama.cpp's converter writes into a GGUF file of T5. What the file
  /// leaves free at the end of its vocabulary begins with so many <extra_id_N>, as in T5's own, or with
  /// fewer.
  static T5Vocabulary of_gguf(const io::GgufFile& file, std::int64_t extra_ids);

  /// The first <extra_id_N>, which are pieces already, are looked for in the text as written.
  void look_for_extra_ids(std::int64_t count);

 private:
  void add_extra_ids(std::int64_t count);
  void check() const;
};

/// Whether that path is a GGUF file with a tokenizer inside. Throws InputError where it is a broken one.
bool is_gguf_with_tokenizer(const std::filesystem::path& path);

}  // namespace precast::text
