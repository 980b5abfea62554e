#include <algorithm>
#include <string>
#include <utility>

#include <text/t5_tokenizer.hpp>
#include <text/tokenizer_charsmap.hpp>
#include <text/tokenizer_settings.hpp>
#include <text/tokenizer_unicode.hpp>

#include <precast/io/config.hpp>

namespace precast::text {
namespace {

constexpr std::string_view word_start = "\u2581";

}  // namespace

T5Tokenizer T5Tokenizer::load(const std::filesystem::path& path) {
  if (is_gguf_with_tokenizer(path)) {
    const TokenizerSettings settings;
    return T5Tokenizer(T5Vocabulary::of_gguf(io::GgufFile(path), settings.extra_ids()), settings, path);
  }
  std::optional<io::Config> json;
  if (io::is_there(path / "tokenizer.json")) json = io::Config::load(path / "tokenizer.json");
  if (!json && !io::is_there(path / "spiece.model"))
    throw io::file_error(path, "holds neither tokenizer.json nor spiece.model: get the T5 tokenizer's files");
  const TokenizerSettings settings = TokenizerSettings::read(path, json);
  T5Vocabulary vocabulary = json ? T5Vocabulary::of_json(*json)
                                 : T5Vocabulary::of_spiece(path / "spiece.model", settings.extra_ids());
  vocabulary.look_for_extra_ids(settings.extra_ids());
  return T5Tokenizer(std::move(vocabulary), settings, path);
}

T5Tokenizer::T5Tokenizer(T5Vocabulary vocabulary, const TokenizerSettings& settings,
                         const std::filesystem::path& path)
    : model_(std::move(vocabulary.pieces), T5Vocabulary::unknown_id),
      model_max_length_(vocabulary.longest_text ? vocabulary.longest_text : settings.model_max_length()) {
  std::vector<AddedToken> added = settings.added_tokens(
      {{"eos_token", vocabulary.end_piece}, {"unk_token", "<unk>"}, {"pad_token", vocabulary.pad_piece}},
      vocabulary.added);
  assign_ids(added, model_.size(), [&](std::string_view piece) { return model_.lookup(piece); });
  end_id_ = settings.id_of("eos_token", vocabulary.end_piece, added, path);
  pad_id_ = settings.id_of("pad_token", vocabulary.pad_piece, added, path);
  const Charsmap charsmap(vocabulary.charsmap, vocabulary.path);
  added_ = AddedTokens(std::move(added), [charsmap](std::string_view text) { return charsmap.apply(text); });
}

std::vector<std::int32_t> T5Tokenizer::encode(std::string_view text, int max_length) const {
  if (max_length < 1)
    throw InputError("T5 needs room for 1 token at least, not " + std::to_string(max_length));
  std::vector<std::int32_t> ids;
  added_.cut(
      valid_utf8(text), [&](std::int32_t id) { ids.push_back(id); },
      [&](std::string_view part) { append_text(part, ids); });
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(max_length) - 1));
  ids.push_back(end_id_);
  return ids;
}

void T5Tokenizer::append_text(std::string_view normal, std::vector<std::int32_t>& ids) const {
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) model_.append(word, ids);
    word.clear();
  };
  while (!normal.empty()) {
    const Character next = first_character(normal);
    const std::string_view character = normal.substr(0, next.bytes);
    normal.remove_prefix(next.bytes);
    if (is_space(next.code)) {
      finish();
      continue;
    }
    // The mark starts a word wherever it stands, also where the text itself has it.
    if (character == word_start)
      finish();
    else if (word.empty())
      word = word_start;
    word += character;
  }
  finish();
}

}  // namespace precast::text
