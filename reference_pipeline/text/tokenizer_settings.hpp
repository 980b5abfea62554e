// TokenizerSettings: what the small JSON files beside a vocabulary say about special tokens and lengths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <text/tokenizer_added_tokens.hpp>

#include <precast/io/config.hpp>

namespace precast::text {

/// The largest vocabulary file that is read; real ones take a few MB.
inline constexpr std::size_t largest_vocabulary_file = std::size_t{64} << 20;
/// The largest id that a token may have: a vocabulary of 16 million is beyond belief.
inline constexpr std::int64_t largest_token_id = (std::int64_t{1} << 24) - 1;

/// tokenizer_config.json, special_tokens_map.json and added_tokens.json, with the precedence that
/// transformers 5 gives them: a list of all added tokens in the config makes it ignore the other files.
class TokenizerSettings {
 public:
  /// Reads what is there of a tokenizer folder; `tokenizer_json` is its tokenizer.json where it has one.
  /// Throws InputError that names the file.
  static TokenizerSettings read(const std::filesystem::path& folder,
                                const std::optional<io::Config>& tokenizer_json);

  /// Throws InputError that names the config and the role where a role is null there, and no other file fills
  /// it.
  void require_roles(std::initializer_list<const char*> names) const;

  /// Gives a special token to each of these roles ("eos_token") that the files leave open.
  void set_usual_roles(const std::map<std::string, std::string>& usual);

  /// All added tokens with their ids, in the order in which they get them: the listed ones, those with a
  /// role, those that a model names itself, the extra ones. `usual_extra` stands where no file names extra
  /// tokens. An id is what `lookup` finds in the vocabulary, else the next free one.
  std::vector<AddedToken> added_tokens(
      const std::vector<std::string>& usual_extra, std::size_t vocabulary_size,
      const std::function<std::optional<std::int32_t>(std::string_view)>& lookup) const;

  /// The id among `added` of the special token of a role. Throws InputError that names the folder where it
  /// has none.
  std::int32_t id_of(const std::string& role, const std::vector<AddedToken>& added,
                     const std::filesystem::path& folder) const;

  /// The longest text in tokens that the model takes, where a file names one that is believable.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }
  /// How many <extra_id_N> a T5 vocabulary is followed by.
  std::int64_t extra_ids() const { return extra_ids_; }

 private:
  void read_config(const io::Config& config);
  void read_special_tokens_map(const io::Config& config);
  /// Whether a role or the extra tokens name it, by what was read so far.
  bool is_special(std::string_view content) const;

  std::optional<io::Config> config_;  ///< tokenizer_config.json, where it is there
  std::map<std::int64_t, AddedToken> listed_;
  std::map<std::string, AddedToken> roles_;
  std::vector<AddedToken> named_;
  std::optional<std::vector<AddedToken>> extra_;
  std::optional<std::int64_t> model_max_length_;
  std::int64_t extra_ids_ = 100;
};

}  // namespace precast::text
