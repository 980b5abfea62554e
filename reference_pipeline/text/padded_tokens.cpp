#include <algorithm>
#include <string>
#include <utility>

#include <text/padded_tokens.hpp>

#include <precast/io/message.hpp>

namespace precast::text {

void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size) {
  const std::int32_t largest = *std::max_element(ids.begin(), ids.end());
  if (largest >= vocab_size)
    throw io::file_error(encoder / "config.json",
                         "key 'vocab_size': is " + std::to_string(vocab_size) +
                             ", and the tokenizer gives id " + std::to_string(largest) +
                             " for this prompt: the tokenizer is not this encoder's");
}

std::vector<std::int32_t> padded(std::vector<std::int32_t> ids, std::int64_t length, std::int32_t padding) {
  ids.resize(static_cast<std::size_t>(length), padding);
  return ids;
}

}  // namespace precast::text
