#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <sentencepiece_processor.h>
#include <text/base64.hpp>
#include <text/t5_vocabulary.hpp>
#include <text/tokenizer_settings.hpp>

namespace precast::text {
namespace {

/// The last length-delimited field number `wanted` of a protobuf message; empty if there is none or the
/// message is truncated.
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

/// The charsmap of a tokenizer.json's normaliser, by itself or in a sequence.
std::string read_charsmap(const io::Config& json) {
  if (!json.has("normalizer")) return {};
  const io::Config normalizer = json.object("normalizer");
  const auto steps =
      normalizer.has("normalizers") ? normalizer.objects("normalizers") : std::vector<io::Config>{normalizer};
  for (const io::Config& step : steps) {
    if (step.string_or("type", "") != "Precompiled" || !step.has("precompiled_charsmap")) continue;
    const auto bytes = decode_base64(step.string("precompiled_charsmap"));
    if (!bytes) throw step.error("precompiled_charsmap", "is not base64: get the file again");
    return *bytes;
  }
  return {};
}

/// sentencepiece's types of pieces, with llama.cpp's numbers in tokenizer.ggml.token_type.
enum class PieceType : std::int64_t { normal = 1, unknown, control, user_defined, unused, byte };

/// Requires T5's settings of the tokenizer: others would give other ids, and another picture.
void check_settings(const io::GgufFile& file) {
  const auto require = [&](const char* key, const std::string& found, const std::string& wanted) {
    if (found != wanted)
      throw io::file_error(file.path(), "key '" + std::string(key) + "' is " + io::printable(found, 40) +
                                            ", where T5's tokenizer has " + wanted +
                                            ": give --model a folder with tokenizer_2/");
  };
  require("tokenizer.ggml.model", std::string(file.value("tokenizer.ggml.model")->text()), "t5");
  const auto require_flag = [&](const char* key, bool wanted) {
    if (const io::GgufValue* value = file.value(key))
      require(key, value->boolean() ? "true" : "false", wanted ? "true" : "false");
  };
  require_flag("tokenizer.ggml.add_space_prefix", true);
  require_flag("tokenizer.ggml.remove_extra_whitespaces", true);
  require_flag("tokenizer.ggml.add_bos_token", false);
  require_flag("tokenizer.ggml.add_eos_token", true);
  if (const io::GgufValue* value = file.value("tokenizer.ggml.unknown_token_id"))
    require("tokenizer.ggml.unknown_token_id", std::to_string(value->integer()),
            std::to_string(T5Vocabulary::unknown_id));
}

const io::GgufValue& required(const io::GgufFile& file, const char* key) {
  if (const io::GgufValue* value = file.value(key)) return *value;
  throw io::file_error(file.path(), "key '" + std::string(key) + "' is missing: get the file again");
}

/// The list with that key, which must have one element per piece.
const io::GgufValue& list_of(const io::GgufFile& file, const char* key, std::size_t count) {
  const io::GgufValue& list = required(file, key);
  if (list.count() != count)
    throw io::file_error(file.path(), "key '" + std::string(key) + "' has " + std::to_string(list.count()) +
                                          " elements for " + std::to_string(count) +
                                          " pieces: get the file again");
  return list;
}

std::string extra_id_piece(std::int64_t number) { return "<extra_id_" + std::to_string(number) + ">"; }

}  // namespace

void T5Vocabulary::add_extra_ids(std::int64_t count) {
  for (std::int64_t i = count; i-- > 0;) pieces.push_back({extra_id_piece(i), 0.0});
}

void T5Vocabulary::look_for_extra_ids(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) added.push_back(extra_id_piece(i));
}

void T5Vocabulary::check() const {
  if (pieces.size() <= static_cast<std::size_t>(unknown_id))
    throw io::file_error(path, "holds " + std::to_string(pieces.size()) +
                                   " pieces, where T5 has <pad>, </s>, <unk> and more: get the file again");
  if (pieces.size() > static_cast<std::size_t>(largest_token_id))
    throw io::file_error(path, "holds implausibly many pieces: get the file again");
  for (const ScoredPiece& piece : pieces)
    if (!std::isfinite(piece.score))
      throw io::file_error(path,
                           "piece '" + io::printable(piece.text) + "' has no score: get the file again");
}

// libsentencepiece validates the file, but does not expose the normaliser's table.
T5Vocabulary T5Vocabulary::of_spiece(const std::filesystem::path& path, std::int64_t extra_ids) {
  constexpr std::uint64_t normalizer_spec = 3, precompiled_charsmap = 2;
  const io::MappedFile file(path);
  if (file.bytes().size() > largest_vocabulary_file)
    throw io::file_error(path, "is too large for a vocabulary: check that it is the right file");
  sentencepiece::SentencePieceProcessor processor;
  bool whole = false;
  try {
    whole = processor.LoadFromSerializedProto(file.text()).ok();
  } catch (const std::exception&) {  // thrown by the library's trie for some pieces
  }
  if (!whole) throw io::file_error(path, "is not a whole sentencepiece model: get the file again");
  T5Vocabulary result;
  result.path = path;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    result.pieces.push_back({processor.IdToPiece(id), processor.GetScore(id)});
    if (processor.IsControl(id)) result.added.push_back(processor.IdToPiece(id));
  }
  result.add_extra_ids(extra_ids);
  result.charsmap = last_field(last_field(file.text(), normalizer_spec), precompiled_charsmap);
  result.check();
  return result;
}

T5Vocabulary T5Vocabulary::of_json(const io::Config& json) {
  const io::Config model = json.object("model");
  if (model.string_or("type", "Unigram") != "Unigram")
    throw model.error("type", "must be Unigram for a T5 tokenizer: get the folder of the right model");
  T5Vocabulary result;
  result.path = json.path();
  result.charsmap = read_charsmap(json);
  std::set<std::string> seen;
  result.pieces = model.list("vocab", [&](const std::string& place, const nlohmann::json& item) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      throw model.wrong(place, "must be a piece and its score", item);
    const auto text = item[0].get<std::string>();
    if (!seen.insert(text).second)
      throw model.error(place, "'" + io::printable(text) + "' appears twice: get the file again");
    return ScoredPiece{text, item[1].get<double>()};
  });
  result.check();
  return result;
}

T5Vocabulary T5Vocabulary::of_gguf(const io::GgufFile& file, std::int64_t extra_ids) {
  check_settings(file);
  const std::vector<std::string_view> texts = required(file, "tokenizer.ggml.tokens").texts();
  const auto scores = list_of(file, "tokenizer.ggml.scores", texts.size()).reals();
  const auto types = list_of(file, "tokenizer.ggml.token_type", texts.size()).integers();
  std::size_t used = texts.size();
  while (used > 0 && PieceType{types[used - 1]} == PieceType::unused) --used;

  T5Vocabulary result;
  result.path = file.path();
  for (std::size_t id = 0; id < used; ++id) {
    const PieceType type{types[id]};
    const bool is_added = type == PieceType::control || type == PieceType::user_defined;
    if (is_added) result.added.emplace_back(texts[id]);
    // The converter's scores of other piece types would become the minimum, from which the score of unknown
    // characters is derived.
    const bool has_score = !is_added && type != PieceType::unused;
    result.pieces.push_back(
        {type == PieceType::unused ? std::string() : std::string(texts[id]), has_score ? scores[id] : 0.0});
  }
  result.check();
  if (std::ranges::find(result.added, extra_id_piece(0)) == result.added.end()) {
    const std::int64_t free = std::min(extra_ids, static_cast<std::int64_t>(texts.size() - used));
    result.add_extra_ids(free);
    result.look_for_extra_ids(free);
  }
  if (const io::GgufValue* charsmap = file.value("tokenizer.ggml.precompiled_charsmap"))
    for (const std::int64_t byte : charsmap->integers()) result.charsmap += static_cast<char>(byte);
  const auto piece_of = [&](const char* key, std::string& piece) {
    const io::GgufValue* const id = file.value(key);
    if (!id) return;
    if (id->integer() < 0 || id->integer() >= static_cast<std::int64_t>(result.pieces.size()))
      throw io::file_error(file.path(), "key '" + std::string(key) + "' is " + std::to_string(id->integer()) +
                                            ", which is not the id of a piece: get the file again");
    piece = result.pieces[static_cast<std::size_t>(id->integer())].text;
  };
  piece_of("tokenizer.ggml.eos_token_id", result.end_piece);
  piece_of("tokenizer.ggml.padding_token_id", result.pad_piece);
  const io::GgufValue* const architecture = file.value("general.architecture");
  const io::GgufValue* const length =
      architecture ? file.value(std::string(architecture->text()) + ".context_length") : nullptr;
  if (length && length->integer() >= 1) result.longest_text = length->integer();
  return result;
}

bool is_gguf_with_tokenizer(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (!io::MappedFile(path).text().starts_with("GGUF")) return false;
  return io::GgufFile(path).value("tokenizer.ggml.model") != nullptr;
}

}  // namespace precast::text
