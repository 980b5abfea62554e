// The sizes of language models that are measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <language_model/config.hpp>

namespace precast::timing {

/// A model's size by name. The feed-forward layers are as wide for SwiGLU, which has three matrices, as for
/// gelu, which has two.
struct ModelSize {
  std::string_view name;
  std::int64_t width, inner, layers, heads;
};

/// S, M, L, XL and 2.7B, whose vocabulary is 10,000 words; and tiny, which is measured in a second.
std::span<const ModelSize> model_sizes();

/// The size of that name. Throws InputError with the names that there are.
const ModelSize& model_size(std::string_view name);

/// A model of that size, for contexts of at most `context` tokens: Llama's layers (RMS norm, rotary
/// positions, SwiGLU) or GPT-2's (layer norm, learned positions, gelu), the head a matrix of its own.
language_model::LanguageModelConfig model_config(const ModelSize& size,
                                                 language_model::Architecture architecture,
                                                 std::int64_t context);

}  // namespace precast::timing
