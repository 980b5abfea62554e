// The text that is shipped with the program, for training without a download.
#pragma once

#include <string_view>

namespace precast::language_model {

/// The opening of Lewis Carroll's Alice's Adventures in Wonderland (1865, in the public domain),
/// transcribed with plain quotation marks: ASCII only.
std::string_view shipped_text();

}  // namespace precast::language_model
