// UNet2DConditionModel as the pipeline sees it: its config, what it predicts, and how one is made for a
// policy. Denoising loops, which are templates over the policy, take UNetModel<P> of unet_model.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <families/blocks.hpp>

#include <precast/backend.hpp>
#include <precast/io/config.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// A resolution of a UNet: its part of the way down, and its part of the way up. The first has the size of
/// the latents, each further one half of that.
struct UNetLevel {
  std::int64_t channels = 320;
  std::int64_t layers = 2;                  ///< residual blocks down; one more up
  bool attention_down = true;               ///< CrossAttnDownBlock2D, else DownBlock2D
  bool attention_up = true;                 ///< CrossAttnUpBlock2D, else UpBlock2D
  std::int64_t heads = 8;                   ///< what the config calls attention_head_dim
  std::vector<std::int64_t> depths_down{};  ///< blocks of the transformer in each layer down
  std::vector<std::int64_t> depths_up{};    ///< blocks of the transformer in each layer up

  /// Blocks of the transformer of layer `i` down or up; nothing where the level does not attend there.
  std::optional<std::int64_t> depth_down(std::int64_t i) const {
    return attention_down ? std::optional(depths_down.at(static_cast<std::size_t>(i))) : std::nullopt;
  }
  std::optional<std::int64_t> depth_up(std::int64_t i) const {
    return attention_up ? std::optional(depths_up.at(static_cast<std::size_t>(i))) : std::nullopt;
  }
  /// What all heads of a transformer hold together: its channels, where heads divide them.
  std::int64_t inner() const { return channels / heads * heads; }
};

/// unet/config.json of a diffusers folder.
struct UNetConfig {
  /// What the middle consists of.
  enum class Middle : std::uint8_t {
    attention,  ///< UNetMidBlock2DCrossAttn: residual, transformer, residual
    residual,   ///< UNetMidBlock2D: one residual block
    absent,
  };

  std::int64_t in_channels = 4;  ///< 9 where a mask and a masked picture are given as well
  std::int64_t out_channels = 4;
  std::vector<UNetLevel> levels;
  std::int64_t context_width = 1280;  ///< cross_attention_dim: of the prompt's tokens
  std::int64_t time_width = 1280;     ///< of the embedded time: 4 times the first level's channels
  Middle middle = Middle::attention;
  std::int64_t middle_depth = 1;   ///< blocks of the middle's transformer
  bool linear_projection = false;  ///< around transformers, else convolutions of 1 x 1
  std::int64_t norm_groups = 32;
  double norm_epsilon = 1e-5;
  bool cosines_first = true;           ///< flip_sin_to_cos
  std::int64_t frequency_shift = 0;    ///< freq_shift
  std::int64_t guidance_channels = 0;  ///< time_cond_proj_dim: of an embedded guidance; 0: it has none
  bool text_time = false;             ///< addition_embed_type: pooled text and time ids are added to the time
  std::int64_t time_id_channels = 0;  ///< addition_time_embed_dim: of each embedded time id
  std::int64_t text_time_width = 0;   ///< projection_class_embeddings_input_dim: pooled and all time ids
  bool upcast_attention = false;      ///< what its maker advises; a policy decides, and a note says so
  std::optional<std::int64_t> sample_size;  ///< latents along a side that it was trained on

  /// What of it no tensor tells, and of which pictures are made.
  auto untold() const {
    std::vector<std::int64_t> heads;
    for (const UNetLevel& level : levels) heads.push_back(level.heads);
    return std::tuple(heads, norm_groups, norm_epsilon, cosines_first, frequency_shift, upcast_attention,
                      sample_size);
  }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static UNetConfig load(const std::filesystem::path& file);
  static UNetConfig from(const io::Config& json);
};

/// What a picture is conditioned on. Views are f32, in the host's memory.
struct Conditioning {
  HostView<const f32> context{};                ///< of the prompt, [tokens, context_width]
  std::optional<HostView<const f32>> pooled{};  ///< where the config says text_time: [1, width]
  std::vector<f32> time_ids{};                  ///< with `pooled`: sizes and crops, or sizes and a score
  /// Where the config has guidance_channels: guidance scale less 1, which is embedded as thousandths.
  /// Without it nothing is added to the time.
  std::optional<f32> guidance{};
};

/// A loaded UNet.
class UNet {
 public:
  virtual ~UNet() = default;
  /// What the model says of latents [1, h, w, in_channels] (scaled as its sampler wants them) at a timestep
  /// (0 to 999, not divided) under each of n conditionings: [n, h, w, out_channels]. Latents may also be n
  /// pictures, one for each. Throws ShapeError where sizes do not fit each other or the config.
  virtual HostTensor<f32> predict(HostView<const f32> latents, f32 timestep,
                                  std::span<const Conditioning> conditionings) const = 0;
  HostTensor<f32> predict(HostView<const f32> latents, f32 timestep, const Conditioning& conditioning) const {
    return predict(latents, timestep, std::span(&conditioning, 1));
  }
  /// Takes a state through blocks [first, last), which are the stages of unet_stages.hpp, in any number of
  /// calls: the bits of one call, and those that a prediction has there. Throws ShapeError where the state is
  /// not this model's.
  virtual void run_blocks(families::BlockState& state, std::int64_t first, std::int64_t last) const = 0;
  /// Loads block `index` anew.
  virtual void replace_block(std::int64_t index, const nn::ParameterSource& source) = 0;
};

inline namespace PRECAST_BACKEND {

/// Loads a UNet under a policy. Instances are compiled in kernels/, one unit a policy.
///
/// A denoising loop holds a UNetModel<P> (unet_model.hpp) itself, and stays on the backend with it:
///
///   UNetModel<P> unet(config, nn::ParameterPath(source));
///   const UNetInputs<P> inputs = unet.prepare(conditionings);  // once for all steps: {negative, prompt}, or
///   one Tensor<f32> predicted = unet.predict(inputs, latents, time);
///
/// where `latents` is a View<const f32> [1 or n, h, w, in_channels], `time` a View<const f32> [1, 1] that
/// holds the timestep, and `predicted` [n, h, w, out_channels], in the order of the conditionings. All of a
/// prediction is recorded by backend::Replay.
template <PolicyType P>
std::unique_ptr<UNet> make_unet(const UNetConfig& config, const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
