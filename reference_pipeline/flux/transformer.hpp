// The interface of the Flux transformer: its config, its inputs and predictions, and its loader for a
// policy.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <families/blocks.hpp>
#include <families/denoising_loop.hpp>

#include <precast/backend.hpp>
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
  /// The keys that affect pictures and that no tensor shows.
  auto not_in_tensors() const { return std::tuple(axes_dims_rope); }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static TransformerConfig load(const std::filesystem::path& file);
};

/// The inputs of one prediction. All views are of f32 in host memory, and hold the values of narrower
/// dtypes exactly.
struct TransformerInput {
  HostView<const f32> latents;         ///< packed [tokens, in_channels], row by row
  HostView<const f32> prompt;          ///< T5's [text tokens, joint_attention_dim]
  HostView<const f32> pooled;          ///< CLIP's [1, pooled_projection_dim]
  f32 timestep = 0;                    ///< sigma, as diffusers passes it to the model: timestep / 1000
  f32 guidance = 0;                    ///< unused without a guidance embedding
  std::int64_t rows = 0, columns = 0;  ///< tokens = rows * columns
};

/// One step from a noise level to the next.
struct DenoiseStep {
  f32 timestep = 0;  ///< of the prediction, as in TransformerInput
  f32 distance = 0;  ///< the next sigma minus this one, by which the velocity is multiplied
};

/// A negative prompt as its encoders give it, for classifier-free guidance (Ho and Salimans 2022).
struct NegativePrompt {
  HostView<const f32> prompt;  ///< T5's [text tokens, joint_attention_dim]
  HostView<const f32> pooled;  ///< CLIP's [1, pooled_projection_dim]
  f32 scale = 1;               ///< the velocity is negative + scale (positive - negative)
};

/// The inputs for denoising one picture. Objects referred to must outlive the loop.
struct DenoiseInput {
  TransformerInput prediction;  ///< of each step; its own latents and timestep are not used
  std::span<const DenoiseStep> steps;
  std::optional<NegativePrompt> negative = std::nullopt;
  std::optional<families::LatentsCallback> latents_callback = std::nullopt;
  std::optional<families::Recording> recording = std::nullopt;  ///< its picture index stays 0
};

/// Called with the number of each step before it starts. May throw to cancel.
using BeforeStep = std::function<void(std::int64_t)>;

/// A loaded transformer.
class Transformer {
 public:
  virtual ~Transformer() = default;
  /// The velocity [tokens, out_channels] at the input.
  virtual HostTensor<f32> velocity(const TransformerInput& input) const = 0;
  /// Runs the steps on `latents` [tokens, in_channels]: at each, latents += distance * velocity. A dry run
  /// takes only families::steps_to_run of them.
  virtual void denoise(HostView<f32> latents, const DenoiseInput& input,
                       const BeforeStep& before_step) const = 0;
};

/// A transformer whose blocks can be run apart from the rest, and changed. Blocks are numbered
/// consecutively: double blocks first, then single ones.
class BlockwiseTransformer : public Transformer {
 public:
  /// The state before the first block.
  virtual families::BlockState state_before_blocks(const TransformerInput& input) const = 0;
  /// Runs blocks [first, last) on a state. Several calls give the same bits as one call, and as `velocity`
  /// computes. Throws ShapeError where the state is not this model's.
  virtual void run_blocks(families::BlockState& state, std::int64_t first, std::int64_t last) const = 0;
  /// Loads block `index` anew.
  virtual void replace_block(std::int64_t index, const nn::ParameterSource& source) = 0;
};

inline namespace PRECAST_BACKEND {

/// Loads a transformer under a policy. Instances are compiled in kernels/, one unit a policy.
template <PolicyType P>
std::unique_ptr<BlockwiseTransformer> make_transformer(const TransformerConfig& config,
                                                       const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
