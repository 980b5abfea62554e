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

T5Tokenizer::T5Tokenizer(T5Vocabulary vocabulary, TokenizerSettings settings,
                         const std::filesystem::path& path)
    : Tokenizer("T5"), model_(std::move(vocabulary.pieces), T5Vocabulary::unknown_id) {
  settings.set_usual_roles(
      {{"eos_token", vocabulary.end_piece}, {"unk_token", "<unk>"}, {"pad_token", vocabulary.pad_piece}});
  const std::vector<AddedToken> added = settings.added_tokens(
      vocabulary.added, model_.size(), [&](std::string_view piece) { return model_.lookup(piece); });
  const Charsmap charsmap(vocabulary.charsmap, vocabulary.path);
  set_tokens(
      added, [charsmap](std::string_view text) { return charsmap.apply(text); }, settings, path);
  if (vocabulary.longest_text) model_max_length_ = vocabulary.longest_text;
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
    // The mark starts a word anywhere, even if it is in the original text.
    if (character == word_start)
      finish();
    else if (word.empty())
      word = word_start;
    word += character;
  }
  finish();
}

}  // namespace precast::text
