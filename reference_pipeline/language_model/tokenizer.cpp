#include <algorithm>

#include <image/unicode.hpp>
#include <language_model/tokenizer.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>
#include <precast/io/message.hpp>

namespace precast::language_model {

namespace {

/// Calls `take(code point)` for each character. Throws InputError at the first invalid UTF-8.
template <class Take>
void for_characters(std::string_view text, const std::string& name, Take&& take) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const int length = lead < 0x80                   ? 1
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xf0 && lead < 0xf5 ? 4
                                                     : 0;
    char32_t point = length <= 1 ? lead : lead & (0x7fu >> length);
    bool valid = length > 0 && at + static_cast<std::size_t>(length) <= text.size();
    for (int i = 1; valid && i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]);
      valid = (next & 0xc0) == 0x80;
      point = point << 6 | (next & 0x3fu);
    }
    constexpr char32_t least[]{0, 0, 0x80, 0x800, 0x10000};
    valid = valid && point >= least[length] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    if (!valid)
      throw InputError(name + ": byte " + std::to_string(at) +
                       " is not UTF-8: convert the text, or train on bytes (--tokenizer bytes)");
    take(point, at);
    at += static_cast<std::size_t>(length);
  }
}

}  // namespace

Tokenizer Tokenizer::of_characters(std::string_view text, const std::string& name) {
  Tokenizer tokenizer;
  std::vector<bool> seen(0x110000);
  for_characters(text, name, [&](char32_t point, std::size_t) { seen[point] = true; });
  for (char32_t point = 0; point < seen.size(); ++point)
    if (seen[point]) tokenizer.characters_.push_back(point);
  if (tokenizer.characters_.empty()) throw InputError(name + ": is empty: give a text to train on");
  return tokenizer;
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::filesystem::path& file) {
  const io::Config json = io::Config::of_own(text, file, "a tokenizer that precast train wrote");
  if (json.one_of_or("kind", false, {{"bytes", true}, {"characters", false}})) return of_bytes();
  return of_characters(json.string("characters"), io::shown(file));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, const std::string& name) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  if (characters_.empty()) {
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  for_characters(text, name, [&](char32_t point, std::size_t at) {
    const auto found = std::ranges::lower_bound(characters_, point);
    if (found == characters_.end() || *found != point)
      throw InputError(name + ": the character at byte " + std::to_string(at) +
                       " is not one of the model's: use a text of its characters, or train a new model");
    tokens.push_back(static_cast<std::int32_t>(found - characters_.begin()));
  });
  return tokens;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= size()) continue;  // a model's vocabulary may be larger
    if (characters_.empty())
      text += static_cast<char>(token);
    else
      image::append_utf8(text, static_cast<std::int32_t>(characters_[static_cast<std::size_t>(token)]));
  }
  return text;
}

std::string Tokenizer::json() const {
  if (characters_.empty()) return "{\"kind\": \"bytes\"}\n";
  std::string all;
  for (const char32_t point : characters_) image::append_utf8(all, static_cast<std::int32_t>(point));
  return io::indented_json(io::Json{{"kind", "characters"}, {"characters", all}}) + "\n";
}

}  // namespace precast::language_model
