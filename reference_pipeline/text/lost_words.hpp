// The words of a text for which a tokenizer's length has no room.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace precast::text {

/// How many tokens a text takes, special ones in.
using CountTokens = std::function<std::ptrdiff_t(std::string_view)>;

/// The end of `text` that `limit` tokens leave out, from the start of its first word that is not whole;
/// inside of a word only where that is longer than words are, as in scripts without spaces. "" where all
/// fits.
std::string lost_words(std::string_view text, std::ptrdiff_t limit, const CountTokens& tokens);

}  // namespace precast::text
