// Counts the tokens of prompts.
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include <families/cut_prompts.hpp>
#include <text/lost_words.hpp>

namespace precast::families {

std::vector<CutPrompt> cut_prompts(const ResolvedRequest& request, std::span<const PromptReader> readers) {
  std::vector<CutPrompt> cut;
  const auto look = [&](CutPrompt at, const std::string& prompt) {
    for (const PromptReader& reader : readers) {
      at.encoder = reader.name;
      at.tokens = reader.length;
      at.lost = text::lost_words(prompt, reader.length, [&](std::string_view text) {
        return std::ssize(reader.tokenizer.prompt_ids(text, std::numeric_limits<int>::max()));
      });
      if (!at.lost.empty()) cut.push_back(at);
    }
  };
  for (std::size_t number = 0; number < request.prompts.size(); ++number)
    look({.prompt = number}, request.prompts[number]);
  if (request.negative) look({.negative = true}, *request.negative);
  return cut;
}

}  // namespace precast::families
