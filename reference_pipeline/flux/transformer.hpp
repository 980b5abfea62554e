// The Flux transformer as the pipeline sees it: its config, what it predicts, and how one is made for a
// policy.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::flux {

/// transformer/config.json of a diffusers folder.
struct TransformerConfig {
  std::int64_t in_channels = 64;
  std::int64_t out_channels = 64;
  std::int64_t num_layers = 19;         ///< double blocks
  std::int64_t num_single_layers = 38;  ///< single blocks
  std::int64_t attention_head_dim = 128;
  std::int64_t num_attention_heads = 24;
  std::int64_t joint_attention_dim = 4096;
  std::int64_t pooled_projection_dim = 768;
  bool guidance_embeds = false;
  std::vector<std::int64_t> axes_dims_rope{16, 56, 56};

  std::int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static TransformerConfig load(const std::filesystem::path& file);
};

/// What one prediction starts from. All views are f32: they hold exactly what their makers stored.
struct TransformerInput {
  View<const f32> latents;             ///< packed [tokens, in_channels], row by row
  View<const f32> prompt;              ///< T5's [text tokens, joint_attention_dim]
  View<const f32> pooled;              ///< CLIP's [1, pooled_projection_dim]
  f32 timestep = 0;                    ///< sigma, as diffusers hands it to the model: timestep / 1000
  f32 guidance = 0;                    ///< unused without a guidance embedding
  std::int64_t rows = 0, columns = 0;  ///< tokens = rows * columns
};

/// A loaded transformer.
class Transformer {
 public:
  virtual ~Transformer() = default;
  /// The velocity [tokens, out_channels] at the input.
  virtual Tensor<f32> velocity(const TransformerInput& input) const = 0;
};

/// Loads a transformer under a policy. Instances are compiled in kernels/, one unit a policy.
template <PolicyType P>
std::unique_ptr<Transformer> make_transformer(const TransformerConfig& config,
                                              const nn::ParameterSource& source);

}  // namespace precast::flux
