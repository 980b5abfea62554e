// The words of a text that a tokenizer truncates.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace precast::text {

/// The number of tokens of a text, including special ones.
using CountTokens = std::function<std::ptrdiff_t(std::string_view)>;

/// The part of `text` that a limit of `limit` tokens cuts off, from its first incomplete word. It
/// begins inside a word only if that is longer than usual words, as in scripts without spaces. "" if
/// all fits.
std::string lost_words(std::string_view text, std::ptrdiff_t limit, const CountTokens& tokens);

}  // namespace precast::text
