// CLIP's text model for the pipeline: its config, and the embeddings of a prompt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include <precast/backend.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::text {

/// text_encoder/config.json of a diffusers folder (CLIPTextModel or CLIPTextModelWithProjection).
struct ClipConfig {
  std::int64_t vocab_size = 49408;
  std::int64_t hidden_size = 768;
  std::int64_t intermediate_size = 3072;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t max_position_embeddings = 77;
  std::int64_t eos_token_id = 49407;
  std::int64_t projection_dim = 512;   ///< of the pooled embedding, if `projects`
  bool projects = false;               ///< a CLIPTextModelWithProjection, as the model's folder says
  std::string scope = "text_encoder";  ///< the scope of its ops in reports: its folder's name
  double layer_norm_eps = 1e-5;
  ActivationFunction hidden_act = ActivationFunction::quick_gelu;

  /// The values that tensors do not determine and pictures depend on.
  auto not_in_tensors() const { return std::tuple(num_attention_heads, layer_norm_eps, hidden_act); }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static ClipConfig load(const std::filesystem::path& file);
  /// The position of the pooled token: the first end token, or for the legacy id 2 the largest id.
  std::int64_t pooled_position(std::span<const std::int32_t> ids) const;
};

/// Selects one of the model's hidden states.
struct ClipState {
  std::int64_t layers_left_out = 0;  ///< counted from the last, fewer than there are
  bool final_norm = true;            ///< whether the final norm is applied
};
/// The states for Stable Diffusion 1 and 2, and for XL.
inline constexpr ClipState last_state{.layers_left_out = 0, .final_norm = true},
    penultimate_state{.layers_left_out = 1, .final_norm = false};

/// CLIP's output for a prompt, widened to f32.
struct ClipOutput {
  HostTensor<f32> hidden_state;  ///< [tokens, hidden_size]
  HostTensor<f32> pooled;        ///< [1, projection_dim], or [1, hidden_size] without projection: from the
                                 ///< last layer after the final norm, for any state requested
};

class ClipTextModel {
 public:
  virtual ~ClipTextModel() = default;
  /// Encodes padded token ids, at most max_position_embeddings. Throws InputError for ids outside the
  /// vocabulary.
  virtual ClipOutput encode(std::span<const std::int32_t> ids, ClipState wanted = last_state) const = 0;
};

inline namespace PRECAST_BACKEND {

/// Loads the model under a policy; weights may have the prefix "text_model." or not, except for
/// text_projection.weight, which never has it.
template <PolicyType P>
std::unique_ptr<ClipTextModel> make_clip_text_model(const ClipConfig& config,
                                                    const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::text
