// TokenizerSettings: special tokens and lengths in the tokenizer's config files.
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

/// The size limit of vocabulary files; real ones take a few MB.
inline constexpr std::size_t largest_vocabulary_file = std::size_t{64} << 20;
/// The largest id that a token may have: no real vocabulary has 16 million tokens.
inline constexpr std::int64_t largest_token_id = (std::int64_t{1} << 24) - 1;

/// tokenizer_config.json, special_tokens_map.json and added_tokens.json, with the precedence of
/// transformers 5: if the config lists all added tokens, the other files are ignored.
class TokenizerSettings {
 public:
  /// Reads those of the files that exist in a tokenizer folder; `tokenizer_json` is its tokenizer.json, if
  /// it has one. Throws InputError that names the file.
  static TokenizerSettings read(const std::filesystem::path& folder,
                                const std::optional<io::Config>& tokenizer_json);

  /// Throws InputError that names the config and the role if a role is null there and not set in another
  /// file.
  void require_roles(std::initializer_list<const char*> names) const;

  /// Sets default special tokens for those of these roles ("eos_token") that the files do not set.
  void set_usual_roles(const std::map<std::string, std::string>& usual);

  /// All added tokens with their ids, in order of assignment: listed ones, those with a role, the model's
  /// own, extra ones. `usual_extra` is the default for the extra ones. An id is the one that `lookup` finds
  /// in the vocabulary, else the next free one.
  std::vector<AddedToken> added_tokens(
      const std::vector<std::string>& usual_extra, std::size_t vocabulary_size,
      const std::function<std::optional<std::int32_t>(std::string_view)>& lookup) const;

  /// The id in `added` of a role's special token. Throws InputError that names the folder if there is
  /// none.
  std::int32_t id_of(const std::string& role, const std::vector<AddedToken>& added,
                     const std::filesystem::path& folder) const;

  /// The maximum length of a text in tokens, if a file has a plausible one.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }
  /// The number of <extra_id_N> tokens after a T5 vocabulary.
  std::int64_t extra_ids() const { return extra_ids_; }

 private:
  void read_config(const io::Config& config);
  void read_special_tokens_map(const io::Config& config);
  /// Whether the files read so far give the token a role or list it as an extra token.
  bool is_special(std::string_view content) const;

  std::optional<io::Config> config_;  ///< tokenizer_config.json, if present
  std::map<std::int64_t, AddedToken> listed_;
  std::map<std::string, AddedToken> roles_;
  std::vector<AddedToken> named_;
  std::optional<std::vector<AddedToken>> extra_;
  std::optional<std::int64_t> model_max_length_;
  std::int64_t extra_ids_ = 100;
};

}  // namespace precast::text
