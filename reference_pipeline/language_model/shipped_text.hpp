// The text that ships with the program, to train on without a download.
#pragma once

#include <string_view>

namespace precast::language_model {

/// The opening of Lewis Carroll's Alice's Adventures in Wonderland (1865, in the public domain), written down
/// with plain quotation marks: ASCII alone.
std::string_view shipped_text();

}  // namespace precast::language_model
