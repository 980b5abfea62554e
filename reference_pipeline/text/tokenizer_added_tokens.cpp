#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <text/tokenizer_added_tokens.hpp>
#include <text/tokenizer_unicode.hpp>

namespace precast::text {
namespace {

/// The start of the last character before `end`.
std::size_t previous_start(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  return end;
}

std::size_t without_spaces_before(std::string_view text, std::size_t begin, std::size_t least) {
  while (begin > least) {
    const std::size_t previous = previous_start(text, begin);
    if (!is_space(first_character(text.substr(previous)).code)) break;
    begin = previous;
  }
  return begin;
}

std::size_t without_spaces_after(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Character next = first_character(text.substr(end));
    if (!is_space(next.code)) break;
    end += next.bytes;
  }
  return end;
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool left = begin == 0 || !is_word(first_character(text.substr(previous_start(text, begin))).code);
  const bool right = end == text.size() || !is_word(first_character(text.substr(end)).code);
  return left && right;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, Normalizer normalizer)
    : normalizer_(std::move(normalizer)) {
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    std::string content = token.normalized ? normalizer_(token.content) : token.content;
    if (!content.empty())
      (token.normalized ? normalized_ : written_).push_back({std::move(content), tokens_.size()});
    tokens_.push_back(std::move(token));
  }
  const auto order = [](const Pattern& a, const Pattern& b) {
    return std::tuple(a.content[0], b.content.size(), a.token) <
           std::tuple(b.content[0], a.content.size(), b.token);
  };
  std::ranges::sort(written_, order);
  std::ranges::sort(normalized_, order);
}

const AddedTokens::Pattern* AddedTokens::longest_at(const Patterns& patterns, std::string_view text) {
  const char start = text[0];
  const auto first = std::ranges::lower_bound(patterns, start, {}, &Pattern::first);
  const auto last = std::ranges::upper_bound(patterns, start, {}, &Pattern::first);
  const auto found =
      std::find_if(first, last, [&](const Pattern& pattern) { return text.starts_with(pattern.content); });
  return found == last ? nullptr : &*found;
}

void AddedTokens::cut_at(const Patterns& patterns, std::string_view text,
                         const std::function<void(std::int32_t)>& on_token,
                         const std::function<void(std::string_view)>& on_text) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Pattern* pattern = longest_at(patterns, text.substr(at));
    if (!pattern) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[pattern->token];
    std::size_t begin = at;
    std::size_t end = at + pattern->content.size();
    at = end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.left_strip) begin = without_spaces_before(text, begin, done);
    if (token.right_strip) end = without_spaces_after(text, end);
    if (done < begin) on_text(text.substr(done, begin - done));
    on_token(token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

void AddedTokens::cut(std::string_view text, const std::function<void(std::int32_t)>& on_token,
                      const std::function<void(std::string_view)>& on_text) const {
  cut_at(written_, text, on_token, [&](std::string_view part) {
    const std::string normal = normalizer_(part);
    cut_at(normalized_, normal, on_token, on_text);
  });
}

std::string AddedTokens::with_learnt_tokens(std::string_view text) const {
  std::string result = valid_utf8(text);
  std::set<std::int32_t> met;
  cut(
      result, [&](std::int32_t id) { met.insert(id); }, [](std::string_view) {});
  const auto is_added = [&](const std::string& content) {
    return std::ranges::find(tokens_, content, &AddedToken::content) != tokens_.end();
  };
  for (const AddedToken& token : tokens_) {
    if (!met.contains(token.id)) continue;
    std::string others;
    for (int number = 1; is_added(token.content + "_" + std::to_string(number)); ++number)
      others += " " + token.content + "_" + std::to_string(number);
    for (std::size_t at = 0; !others.empty() && (at = result.find(token.content, at)) != std::string::npos;) {
      at += token.content.size();
      result.insert(at, others);
      at += others.size();
    }
  }
  return result;
}

}  // namespace precast::text
