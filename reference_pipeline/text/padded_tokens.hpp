// Token ids as encoders take them: of one length, and none beyond the vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace precast::text {

/// The ids of a prompt, at most `limit`, as diffusers' pipelines ask a tokenizer for them: added tokens that
/// were learnt as several (textual inversion) are written out first.
template <class Tokenizer>
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, std::string_view prompt, int limit) {
  return tokenizer.encode(tokenizer.with_learnt_tokens(prompt), limit);
}

/// Throws InputError where the embedding of the encoder in `encoder`, with its config.json, has no row for
/// one of the ids.
void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size);

/// Ids of one length, filled up with the padding id.
std::vector<std::int32_t> padded(std::vector<std::int32_t> ids, std::int64_t length, std::int32_t padding);

}  // namespace precast::text
