#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include <text/clip_tokenizer.hpp>
#include <text/tokenizer_settings.hpp>
#include <text/tokenizer_unicode.hpp>

#include <precast/io/config.hpp>

namespace precast::text {
namespace {

constexpr std::string_view start_token = "<|startoftext|>";
constexpr std::string_view end_token = "<|endoftext|>";
constexpr std::string_view word_end = "</w>";

using Vocabulary = std::unordered_map<std::string, std::int32_t>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// GPT-2's printable character for each byte: the byte itself if it is printable Latin-1, else the next
/// unused one from U+0100.
std::array<std::string, 256> byte_alphabet() {
  std::array<std::string, 256> alphabet;
  int spare = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    const int code = printable ? byte : 0x100 + spare++;
    std::string& letter = alphabet[static_cast<std::size_t>(byte)];
    if (code < 0x80) {
      letter = static_cast<char>(code);
    } else {
      letter = static_cast<char>(0xc0 | code >> 6);
      letter += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return alphabet;
}

/// NFC, runs of white space collapsed to one space, lower case.
std::string normalized(std::string_view text) {
  const std::string composed_text = composed(text);
  std::string spaced;
  bool in_space = false;
  for (std::string_view rest = composed_text; !rest.empty();) {
    const Character next = first_character(rest);
    const bool space = is_space(next.code);
    if (!space)
      spaced += rest.substr(0, next.bytes);
    else if (!in_space)
      spaced += ' ';
    in_space = space;
    rest.remove_prefix(next.bytes);
  }
  return lower_case(spaced);
}

enum class Kind { space, letter, number, other };

Kind kind_of(char32_t code) {
  if (is_letter(code)) return Kind::letter;
  if (is_number(code)) return Kind::number;
  return is_space(code) ? Kind::space : Kind::other;
}

/// The number of bytes in the initial run of characters of one kind.
std::size_t run_length(std::string_view text, Kind kind) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character next = first_character(text.substr(length));
    if (kind_of(next.code) != kind) break;
    length += next.bytes;
  }
  return length;
}

/// The number of bytes in the first word of a text that does not begin with a space: an English
/// contraction's ending, letters, one number (category N), or a run of other characters.
std::size_t word_length(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(ending)) return ending.size();
  const Character first = first_character(text);
  const Kind kind = kind_of(first.code);
  return kind == Kind::number ? first.bytes : run_length(text, kind);
}

void check_merge(const std::filesystem::path& path, std::size_t line, const Vocabulary& vocabulary,
                 const std::string& piece) {
  if (!vocabulary.contains(piece))
    throw io::file_error(path, "merge " + std::to_string(line) + ": '" + io::printable(piece) +
                                   "' is not in the vocabulary: the two files do not belong together");
}

Vocabulary read_vocabulary(const io::Config& json) {
  Vocabulary vocabulary;
  std::unordered_map<std::int64_t, bool> ids;
  for (const auto& [piece, value] : json.json().items()) {
    const std::int64_t id = json.integer(piece, 0, largest_token_id);
    if (!ids.emplace(id, true).second)
      throw json.error(piece, "has id " + std::to_string(id) + ", as another piece has: get the file again");
    vocabulary.emplace(piece, static_cast<std::int32_t>(id));
  }
  if (vocabulary.empty()) throw io::file_error(json.path(), "has an empty vocabulary: get the file again");
  return vocabulary;
}

/// "left right", split at its one space.
std::pair<std::string, std::string> read_pair(const std::filesystem::path& path, const std::string& place,
                                              std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    throw io::file_error(path, place + ": '" + io::printable(text) +
                                   "' must be two pieces with a space between them: get the file again");
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

Pairs read_merges_file(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  if (file.bytes().size() > largest_vocabulary_file)
    throw io::file_error(path, "is too large for a list of merges: check that it is the right file");
  Pairs merges;
  std::string_view rest = file.text();
  for (std::size_t line = 1; !rest.empty(); ++line) {
    std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || text.starts_with("#version")) continue;
    merges.push_back(read_pair(path, "merge " + std::to_string(line), text));
  }
  return merges;
}

Pairs read_merges(const io::Config& model) {
  return model.list("merges", [&](const std::string& place, const nlohmann::json& item) {
    if (item.is_string()) return read_pair(model.path(), place, item.get_ref<const std::string&>());
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_string())
      throw model.wrong(place, "must be a pair of strings", item);
    return std::pair(item[0].get<std::string>(), item[1].get<std::string>());
  });
}

}  // namespace

void ClipTokenizer::set_vocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary,
                                   const Pairs& merges) {
  const std::array<std::string, 256> alphabet = byte_alphabet();
  const auto lookup = [&](const std::string& piece) {
    const auto found = vocabulary.find(piece);
    return found == vocabulary.end() ? std::nullopt : std::optional(found->second);
  };
  for (std::size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = lookup(alphabet[byte]);
    last_byte_ids_[byte] = lookup(alphabet[byte] + std::string(word_end));
  }
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    for (const std::string& piece : {left, right, left + right}) check_merge(path, i + 1, vocabulary, piece);
    const auto key = std::uint64_t(vocabulary.at(left)) << 32 | std::uint64_t(vocabulary.at(right));
    merges_[key] = {static_cast<std::uint32_t>(i), vocabulary.at(left + right)};
  }
}

ClipTokenizer ClipTokenizer::load(const std::filesystem::path& folder) {
  ClipTokenizer tokenizer;
  Vocabulary vocabulary;
  std::optional<io::Config> json;
  if (io::is_there(folder / "tokenizer.json")) {
    json = io::Config::load(folder / "tokenizer.json");
    const io::Config model = json->object("model");
    if (model.string_or("type", "BPE") != "BPE")
      throw model.error("type", "must be BPE for a CLIP tokenizer: get the folder of the right model");
    vocabulary = read_vocabulary(model.object("vocab"));
    tokenizer.set_vocabulary(json->path(), vocabulary, read_merges(model));
  } else {
    for (const char* name : {"vocab.json", "merges.txt"})
      if (!io::is_there(folder / name))
        throw io::file_error(folder, std::string("holds neither tokenizer.json nor ") + name +
                                         ": get the CLIP tokenizer's files");
    vocabulary = read_vocabulary(io::Config::load(folder / "vocab.json"));
    tokenizer.set_vocabulary(folder / "merges.txt", vocabulary, read_merges_file(folder / "merges.txt"));
  }

  TokenizerSettings settings = TokenizerSettings::read(folder, json);
  settings.require_roles({"bos_token", "eos_token", "pad_token"});
  const std::string start(start_token), end(end_token);
  settings.set_usual_roles(
      {{"bos_token", start}, {"eos_token", end}, {"unk_token", end}, {"pad_token", end}});
  const auto lookup = [&](std::string_view piece) {
    const auto found = vocabulary.find(std::string(piece));
    return found == vocabulary.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<AddedToken> added = settings.added_tokens({}, vocabulary.size(), lookup);
  tokenizer.start_id_ = settings.id_of("bos_token", added, folder);
  tokenizer.set_tokens(added, normalized, settings, folder);
  tokenizer.unknown_id_ = settings.id_of("unk_token", added, folder);
  return tokenizer;
}

int ClipTokenizer::length(std::int64_t positions) const {
  return static_cast<int>(std::min(model_max_length_.value_or(77), positions));
}

void ClipTokenizer::append_text(std::string_view normal, std::vector<std::int32_t>& ids) const {
  while (!normal.empty()) {
    if (const std::size_t spaces = run_length(normal, Kind::space)) {
      normal.remove_prefix(spaces);
      continue;
    }
    // The regular expression matches these two tokens first, so the text before "<|" cannot merge with
    // them, but the byte-level step splits them again.
    bool is_special = false;
    for (const std::string_view special : {start_token, end_token}) {
      if (!normal.starts_with(special)) continue;
      for (const std::string_view part :
           {special.substr(0, 2), special.substr(2, special.size() - 4), special.substr(special.size() - 2)})
        append_word(part, ids);
      normal.remove_prefix(special.size());
      is_special = true;
      break;
    }
    if (is_special) continue;
    const std::size_t length = word_length(normal);
    append_word(normal.substr(0, length), ids);
    normal.remove_prefix(length);
  }
}

std::optional<ClipTokenizer::Merge> ClipTokenizer::merge_of(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(std::uint64_t(left) << 32 | std::uint64_t(right));
  return found == merges_.end() ? std::nullopt : std::optional(found->second);
}

void ClipTokenizer::append_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  struct Symbol {
    std::int32_t id;
    std::size_t previous, next;
    bool merged_away = false;
  };
  struct Candidate {
    Merge merge;
    std::size_t at;
    bool operator<(const Candidate& other) const {  // the queue's top is the lowest rank, then the leftmost
      return std::pair(other.merge.rank, other.at) < std::pair(merge.rank, at);
    }
  };
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto& table = i + 1 == word.size() ? last_byte_ids_ : byte_ids_;
    const std::int32_t id = table[static_cast<unsigned char>(word[i])].value_or(unknown_id_);
    symbols.push_back({id, i == 0 ? none : i - 1, i + 1 == word.size() ? none : i + 1});
  }
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::size_t at) {
    if (at == none || symbols[at].next == none) return;
    if (const auto merge = merge_of(symbols[at].id, symbols[symbols[at].next].id)) queue.push({*merge, at});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.merged_away || left.next == none) continue;
    Symbol& right = symbols[left.next];
    // An earlier merge may have changed the pair since it was queued.
    const auto current = merge_of(left.id, right.id);
    if (!current || current->result != best.merge.result) continue;
    left.id = best.merge.result;
    right.merged_away = true;
    left.next = right.next;
    if (left.next != none) symbols[left.next].previous = best.at;
    offer(left.previous);
    offer(best.at);
  }
  for (const Symbol& symbol : symbols)
    if (!symbol.merged_away) ids.push_back(symbol.id);
}

}  // namespace precast::text
