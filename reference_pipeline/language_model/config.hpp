// LanguageModelConfig: the sizes of a GPT-2 or Llama, as transformers' config.json has them.
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
  llama  ///< LlamaForCausalLM: RMS norm, rotary positions, SwiGLU, keys and values of fewer heads
};

constexpr std::string_view to_string(Architecture architecture) {
  return architecture == Architecture::gpt2 ? "gpt2" : "llama";
}

struct LanguageModelConfig {
  Architecture architecture = Architecture::gpt2;
  std::int64_t vocabulary = 256;
  std::int64_t positions = 64;  ///< the longest context
  std::int64_t width = 128;
  std::int64_t layers = 2;
  std::int64_t heads = 4;
  std::int64_t heads_kv = 4;     ///< divides `heads`; equal to it in GPT-2
  std::int64_t head_width = 32;  ///< width / heads in GPT-2; even in Llama
  std::int64_t inner = 512;      ///< width of the feed-forward layers
  double norm_eps = 1e-5;
  ActivationFunction activation = ActivationFunction::gelu_tanh;  ///< GPT-2: that, or gelu_erf
  bool scale_scores = true;            ///< GPT-2: whether scores are divided by the root of head_width
  bool scale_scores_by_layer = false;  ///< GPT-2: whether they are divided by the layer's number, from 1, too
  // Llama.
  double rope_theta = 10000;
  RotaryScaling rotary_scaling{};
  bool attention_bias = false;  ///< whether q, k, v and what attention gives are projected with biases
  bool mlp_bias = false;        ///< whether the feed-forward layers have biases
  bool tied = true;             ///< whether the head is the table of embeddings
  /// Llama: the token whose embedding gets no gradient where it is read (pad_token_id, which transformers
  /// gives to torch's Embedding as padding_idx); a tied head's gradient reaches that row all the same.
  std::optional<std::int64_t> padding{};
  /// The tokens that a text begins, ends and is filled up with, as JSON by their keys: config.json keeps
  /// them. A new model's texts have none: what transformers generates would end at the token that it named.
  std::map<std::string, std::string> special_tokens{{"bos_token_id", "null"}, {"eos_token_id", "null"}};
  /// Keys of the file that a run here leaves out: dropout.
  std::vector<std::string> left_out{};

  /// Reads config.json. Throws InputError that names the key where something is missing or wrong, and where
  /// the model has a part that is not known here.
  static LanguageModelConfig load(const std::filesystem::path& file);
  /// config.json, as transformers reads it.
  std::string json() const;
  /// What attention multiplies scores by in a layer, counted from 0.
  double score_scale(std::int64_t layer) const;
  /// Throws InputError where sizes do not fit each other.
  void check() const;
};

}  // namespace precast::language_model
