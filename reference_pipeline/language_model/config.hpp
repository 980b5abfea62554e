// LanguageModelConfig: the sizes of a GPT-2 or Llama, as in transformers' config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <language_model/rotary_scaling.hpp>

#include <precast/problem/activate.hpp>

namespace precast::language_model {

enum class Architecture : std::uint8_t {
  gpt2,  ///< GPT2LMHeadModel: layer norm, learned positions, gelu
  llama  ///< LlamaForCausalLM: RMS norm, rotary positions, SwiGLU, grouped-query attention
};

constexpr std::string_view to_string(Architecture architecture) {
  return architecture == Architecture::gpt2 ? "gpt2" : "llama";
}

struct LanguageModelConfig {
  Architecture architecture = Architecture::gpt2;
  std::int64_t vocabulary = 256;
  std::int64_t positions = 64;  ///< the maximum context
  std::int64_t width = 128;
  std::int64_t layers = 2;
  std::int64_t heads = 4;
  std::int64_t heads_kv = 4;     ///< divides `heads`; equal to it in GPT-2
  std::int64_t head_width = 32;  ///< width / heads in GPT-2; even in Llama
  std::int64_t inner = 512;      ///< width of the feed-forward layers
  double norm_eps = 1e-5;
  ActivationFunction activation = ActivationFunction::gelu_tanh;  ///< GPT-2: that, or gelu_erf
  bool scale_scores = true;            ///< GPT-2: whether scores are divided by sqrt(head_width)
  bool scale_scores_by_layer = false;  ///< GPT-2: whether they are also divided by the layer's number
  // Llama.
  double rope_theta = 10000;
  RotaryScaling rotary_scaling{};
  bool attention_bias = false;  ///< whether q, k, v and the output projection have biases
  bool mlp_bias = false;        ///< whether the feed-forward layers have biases
  bool tied = true;             ///< whether the head shares the token embedding
  /// Llama: the token whose row gets no gradient from the embedding (pad_token_id, which transformers
  /// passes to torch's Embedding as padding_idx); it does get a tied head's gradient.
  std::optional<std::int64_t> padding{};
  /// The start, end and padding tokens as JSON by their keys, kept for config.json. A new model has none:
  /// an end token would stop transformers' generation where the model draws it.
  std::map<std::string, std::string> special_tokens{{"bos_token_id", "null"}, {"eos_token_id", "null"}};
  /// Settings of the file that training here ignores: dropout.
  std::vector<std::string> left_out{};

  /// Reads config.json. Throws InputError that names the key if a value is missing or invalid, or if the
  /// model has an unsupported part.
  static LanguageModelConfig load(const std::filesystem::path& file);
  /// The text of a config.json for transformers.
  std::string json() const;
  /// The scale of attention scores in a layer, counted from 0.
  double score_scale(std::int64_t layer) const;
  /// Throws InputError if the sizes are inconsistent.
  void check() const;
};

}  // namespace precast::language_model
