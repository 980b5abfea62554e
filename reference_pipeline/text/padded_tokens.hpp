// Token ids as encoders take them: of one length, and none beyond the vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace precast::text {

/// Throws InputError where the embedding of the encoder in `encoder`, with its config.json, has no row for
/// one of the ids.
void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size);

/// Ids of one length, filled up with the padding id.
std::vector<std::int32_t> padded(std::vector<std::int32_t> ids, std::int64_t length, std::int32_t padding);

}  // namespace precast::text
