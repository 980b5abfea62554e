#include <algorithm>
#include <utility>

#include <text/tokenizer.hpp>
#include <text/tokenizer_unicode.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>

namespace precast::text {

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, int max_length) const {
  const int least = start_id_ ? 2 : 1;
  if (max_length < least)
    throw InputError(std::string(name_) + " needs room for " + io::counted(least, "token") +
                     " at least, not " + std::to_string(max_length));
  std::vector<std::int32_t> ids;
  if (start_id_) ids.push_back(*start_id_);
  added_.cut(
      valid_utf8(text), [&](std::int32_t id) { ids.push_back(id); },
      [&](std::string_view part) { append_text(part, ids); });
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(max_length) - 1));
  ids.push_back(end_id_);
  return ids;
}

std::vector<std::int32_t> Tokenizer::prompt_ids(std::string_view prompt, int max_length, int padding) const {
  std::vector<std::int32_t> ids = encode(with_learnt_tokens(prompt), max_length);
  ids.resize(std::max(ids.size(), static_cast<std::size_t>(padding)), pad_id_);
  return ids;
}

void Tokenizer::set_tokens(const std::vector<AddedToken>& added, Normalizer normalizer,
                           const TokenizerSettings& settings, const std::filesystem::path& folder) {
  end_id_ = settings.id_of("eos_token", added, folder);
  pad_id_ = settings.id_of("pad_token", added, folder);
  added_ = AddedTokens(added, std::move(normalizer));
  model_max_length_ = settings.model_max_length();
}

void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size) {
  const std::int32_t largest = *std::max_element(ids.begin(), ids.end());
  if (largest >= vocab_size)
    throw io::file_error(encoder / "config.json",
                         "key 'vocab_size': is " + std::to_string(vocab_size) +
                             ", and the tokenizer gives id " + std::to_string(largest) +
                             " for this prompt: the tokenizer is not this encoder's");
}

}  // namespace precast::text
