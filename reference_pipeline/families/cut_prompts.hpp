// Finds the prompts that are longer than a model's text encoders read.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <families/request.hpp>
#include <text/tokenizer.hpp>

namespace precast::families {

/// A text encoder's name, length and tokenizer.
struct PromptReader {
  std::string_view name;  ///< "CLIP"
  int length = 0;         ///< the most tokens that it reads, special ones included
  const text::Tokenizer& tokenizer;
};

/// The prompts, and the negative one, that one of the encoders does not read to their end.
std::vector<CutPrompt> cut_prompts(const ResolvedRequest& request, std::span<const PromptReader> readers);

}  // namespace precast::families
