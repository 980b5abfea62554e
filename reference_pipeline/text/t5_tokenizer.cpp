#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include <sentencepiece_processor.h>
#include <text/base64.hpp>
#include <text/t5_tokenizer.hpp>
#include <text/tokenizer_settings.hpp>
#include <text/tokenizer_unicode.hpp>

#include <precast/io/config.hpp>

namespace precast::text {
namespace {

constexpr std::string_view word_start = "\u2581";
constexpr std::int32_t unknown_id = 2;  // transformers fixes it for T5, whatever the file says

/// What a vocabulary file holds.
struct VocabularyFile {
  std::filesystem::path path;
  std::vector<ScoredPiece> pieces;
  std::string charsmap;
  std::vector<std::string> control_pieces;  ///< of spiece.model
};

/// The last length-delimited field of that number in a protobuf message; empty where there is none or the
/// message is broken off.
std::string_view last_field(std::string_view message, std::uint64_t wanted) {
  std::string_view found;
  const auto varint = [&message] {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !message.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message[0]);
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!message.empty()) {
    const std::uint64_t tag = varint();
    std::uint64_t length = 0;
    switch (tag & 7) {
      case 0:
        varint();
        break;
      case 1:
        length = 8;
        break;
      case 2:
        length = varint();
        break;
      case 5:
        length = 4;
        break;
      default:
        return found;
    }
    if (length > message.size()) return found;
    if (tag == (wanted << 3 | 2)) found = message.substr(0, length);
    message.remove_prefix(length);
  }
  return found;
}

/// spiece.model. libsentencepiece reads and checks it, but does not hand out the table of the normaliser.
VocabularyFile read_spiece(const std::filesystem::path& path, std::int64_t extra_ids) {
  constexpr std::uint64_t normalizer_spec = 3, precompiled_charsmap = 2;
  const io::MappedFile file(path);
  if (file.bytes().size() > largest_vocabulary_file)
    throw io::file_error(path, "is too large for a vocabulary: check that it is the right file");
  sentencepiece::SentencePieceProcessor processor;
  bool whole = false;
  try {
    whole = processor.LoadFromSerializedProto(file.text()).ok();
  } catch (const std::exception&) {  // from the library's trie, which does not like every piece
  }
  if (!whole) throw io::file_error(path, "is not a whole sentencepiece model: get the file anew");
  VocabularyFile result{path, {}, {}, {}};
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    result.pieces.push_back({processor.IdToPiece(id), processor.GetScore(id)});
    if (processor.IsControl(id)) result.control_pieces.push_back(processor.IdToPiece(id));
  }
  for (std::int64_t i = extra_ids; i-- > 0;)
    result.pieces.push_back({"<extra_id_" + std::to_string(i) + ">", 0.0});
  result.charsmap = last_field(last_field(file.text(), normalizer_spec), precompiled_charsmap);
  return result;
}

/// The normaliser's table in a tokenizer.json, whether it stands alone or in a sequence.
std::string read_charsmap(const io::Config& json) {
  if (!json.has("normalizer")) return {};
  const io::Config normalizer = json.object("normalizer");
  nlohmann::json steps = nlohmann::json::array({normalizer.json()});
  if (normalizer.has("normalizers")) steps = normalizer.json().at("normalizers");
  if (!steps.is_array()) throw normalizer.error("normalizers", "must be a list: get the file anew");
  for (const nlohmann::json& step : steps) {
    const io::Config fields(json.path(), step);
    if (fields.string_or("type", "") != "Precompiled" || !fields.has("precompiled_charsmap")) continue;
    const auto bytes = decode_base64(fields.string("precompiled_charsmap"));
    if (!bytes) throw json.error("precompiled_charsmap", "is not base64: get the file anew");
    return *bytes;
  }
  return {};
}

VocabularyFile read_json(const io::Config& json) {
  const io::Config model = json.object("model");
  if (model.string_or("type", "Unigram") != "Unigram")
    throw model.error("type", "must be Unigram for a T5 tokenizer: get the folder of the right model");
  if (!model.has("vocab")) throw model.error("vocab", "is missing: get the file anew");
  VocabularyFile result{json.path(), {}, read_charsmap(json), {}};
  const nlohmann::json& list = model.json().at("vocab");
  if (!list.is_array()) throw model.error("vocab", "must be a list of pieces and scores: get the file anew");
  std::set<std::string> seen;
  for (const nlohmann::json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      throw model.error("vocab", "item " + std::to_string(result.pieces.size()) +
                                     " must be a piece and its score: get the file anew");
    result.pieces.push_back({item[0].get<std::string>(), item[1].get<double>()});
    if (!seen.insert(result.pieces.back().text).second)
      throw model.error("vocab", "piece '" + io::printable(result.pieces.back().text) +
                                     "' stands there twice: get the file anew");
  }
  return result;
}

void check(const VocabularyFile& vocabulary) {
  if (vocabulary.pieces.size() <= static_cast<std::size_t>(unknown_id))
    throw io::file_error(vocabulary.path,
                         "holds " + std::to_string(vocabulary.pieces.size()) +
                             " pieces, where T5 has <pad>, </s>, <unk> and more: get the file anew");
  if (vocabulary.pieces.size() > static_cast<std::size_t>(largest_token_id))
    throw io::file_error(vocabulary.path, "holds too many pieces to believe: get the file anew");
  for (const ScoredPiece& piece : vocabulary.pieces)
    if (!std::isfinite(piece.score))
      throw io::file_error(vocabulary.path,
                           "piece '" + io::printable(piece.text) + "' has no score: get the file anew");
}

}  // namespace

T5Tokenizer T5Tokenizer::load(const std::filesystem::path& folder) {
  std::optional<io::Config> json;
  if (io::is_there(folder / "tokenizer.json")) json = io::Config::load(folder / "tokenizer.json");
  if (!json && !io::is_there(folder / "spiece.model"))
    throw io::file_error(folder,
                         "holds neither tokenizer.json nor spiece.model: get the T5 tokenizer's files");
  const TokenizerSettings settings = TokenizerSettings::read(folder, json);
  VocabularyFile vocabulary =
      json ? read_json(*json) : read_spiece(folder / "spiece.model", settings.extra_ids());
  check(vocabulary);

  std::vector<std::string> extra = vocabulary.control_pieces;
  for (std::int64_t i = 0; i < settings.extra_ids(); ++i)
    extra.push_back("<extra_id_" + std::to_string(i) + ">");
  T5Tokenizer tokenizer;
  const Charsmap charsmap(vocabulary.charsmap, vocabulary.path);
  tokenizer.model_ = UnigramModel(std::move(vocabulary.pieces), unknown_id);
  std::vector<AddedToken> added =
      settings.added_tokens({{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}, extra);
  assign_ids(added, tokenizer.model_.size(),
             [&](std::string_view piece) { return tokenizer.model_.lookup(piece); });
  const auto id_of = [&](const char* role, const char* fallback) {
    const auto found = std::ranges::find(added, settings.role(role, fallback), &AddedToken::content);
    if (found == added.end() || found->id < 0)
      throw io::file_error(folder, std::string(role) + " is empty: get the tokenizer's files anew");
    return found->id;
  };
  tokenizer.end_id_ = id_of("eos_token", "</s>");
  tokenizer.pad_id_ = id_of("pad_token", "<pad>");
  tokenizer.added_ =
      AddedTokens(std::move(added), [charsmap](std::string_view text) { return charsmap.apply(text); });
  tokenizer.model_max_length_ = settings.model_max_length();
  return tokenizer;
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
