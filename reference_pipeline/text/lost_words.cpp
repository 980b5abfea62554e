// Finds where a text is truncated, by counting the tokens of its prefixes.
#include <algorithm>
#include <vector>

#include <text/lost_words.hpp>

namespace precast::text {

namespace {

constexpr std::size_t longest_word = 40;  // bytes

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }

/// The byte offsets at which words begin.
std::vector<std::size_t> word_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (!is_blank(text[at]) && (at == 0 || is_blank(text[at - 1]))) starts.push_back(at);
  return starts;
}

/// The last of `ends` up to which the text fits into `limit` tokens.
std::size_t last_that_fits(std::string_view text, std::ptrdiff_t limit, const CountTokens& tokens,
                           const std::vector<std::size_t>& ends) {
  const auto beyond = std::partition_point(
      ends.begin(), ends.end(), [&](std::size_t end) { return tokens(text.substr(0, end)) <= limit; });
  return beyond == ends.begin() ? 0 : *(beyond - 1);
}

}  // namespace

std::string lost_words(std::string_view text, std::ptrdiff_t limit, const CountTokens& tokens) {
  if (tokens(text) <= limit) return {};
  std::size_t kept = last_that_fits(text, limit, tokens, word_starts(text));
  const std::size_t space = std::min(text.size(), text.find_first_of(" \t\n\v\f\r", kept));
  if (space - kept > longest_word) {
    std::vector<std::size_t> characters;
    for (std::size_t at = kept; at < space; ++at)
      if (begins_character(text[at])) characters.push_back(at);
    kept = std::max(kept, last_that_fits(text, limit, tokens, characters));
  }
  std::string lost(text.substr(kept));
  while (!lost.empty() && is_blank(lost.back())) lost.pop_back();
  return lost;
}

}  // namespace precast::text
