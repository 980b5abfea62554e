// UNet2DConditionModel's interface for the pipeline: its config and its prediction. Denoising loops are
// templates over the policy, and use UNetModel<P> of unet_model.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <families/blocks.hpp>

#include <precast/io/config.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// A level of a UNet: its blocks on the way down and up. The first level has the size of the latents, each
/// further one half of that.
struct UNetLevel {
  std::int64_t channels = 320;
  std::int64_t layers = 2;                  ///< residual blocks down; one more up
  bool attention_down = true;               ///< CrossAttnDownBlock2D, else DownBlock2D
  bool attention_up = true;                 ///< CrossAttnUpBlock2D, else UpBlock2D
  std::int64_t heads = 8;                   ///< attention_head_dim in the config
  std::vector<std::int64_t> depths_down{};  ///< transformer blocks in each layer down
  std::vector<std::int64_t> depths_up{};    ///< transformer blocks in each layer up

  /// Transformer blocks of layer `i` down or up; nothing if the level has no attention there.
  std::optional<std::int64_t> depth_down(std::int64_t i) const {
    return attention_down ? std::optional(depths_down.at(static_cast<std::size_t>(i))) : std::nullopt;
  }
  std::optional<std::int64_t> depth_up(std::int64_t i) const {
    return attention_up ? std::optional(depths_up.at(static_cast<std::size_t>(i))) : std::nullopt;
  }
  /// The width of all attention heads together: the channels, if divisible by the heads.
  std::int64_t inner() const { return channels / heads * heads; }
};

/// unet/config.json of a diffusers folder.
struct UNetConfig {
  /// The kinds of mid block.
  enum class MidBlockType : std::uint8_t {
    attention,  ///< UNetMidBlock2DCrossAttn: residual, transformer, residual
    residual,   ///< UNetMidBlock2D: one residual block
    absent,
  };

  std::int64_t in_channels = 4;  ///< 9 with a mask and a masked picture
  std::int64_t out_channels = 4;
  std::vector<UNetLevel> levels;
  std::int64_t context_width = 1280;  ///< cross_attention_dim: width of the prompt's tokens
  std::int64_t time_width = 1280;     ///< of the time embedding: 4 times the first level's channels
  MidBlockType mid_block = MidBlockType::attention;
  std::int64_t mid_block_depth = 1;  ///< transformer blocks in the middle
  bool linear_projection = false;    ///< around transformers; else 1x1 convolutions
  std::int64_t norm_groups = 32;
  double norm_epsilon = 1e-5;
  bool cosines_first = true;                ///< flip_sin_to_cos
  std::int64_t frequency_shift = 0;         ///< freq_shift
  std::int64_t guidance_channels = 0;       ///< time_cond_proj_dim: of the guidance embedding; 0: none
  bool text_time = false;                   ///< addition_embed_type: adds pooled text and time ids
  std::int64_t time_id_channels = 0;        ///< addition_time_embed_dim: of each time id's embedding
  std::int64_t text_time_width = 0;         ///< projection_class_embeddings_input_dim: pooled and time ids
  bool upcast_attention = false;            ///< its author's advice; the policy decides, and a note says so
  std::optional<std::int64_t> sample_size;  ///< latents along a side in training

  /// The values that tensors do not determine and pictures depend on.
  auto not_in_tensors() const {
    std::vector<std::int64_t> heads;
    for (const UNetLevel& level : levels) heads.push_back(level.heads);
    return std::tuple(heads, norm_groups, norm_epsilon, cosines_first, frequency_shift, upcast_attention,
                      sample_size);
  }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static UNetConfig load(const std::filesystem::path& file);
  static UNetConfig from(const io::Config& json);
};

/// The conditioning of a picture. Views are f32, in host memory.
struct Conditioning {
  HostView<const f32> context{};                ///< of the prompt, [tokens, context_width]
  std::optional<HostView<const f32>> pooled{};  ///< [1, width], if the config has text_time
  std::vector<f32> time_ids{};                  ///< with `pooled`: sizes and crops, or sizes and a score
  /// The guidance scale minus 1, embedded in thousandths, if the config has guidance_channels. If it is not
  /// set, nothing is added to the time embedding.
  std::optional<f32> guidance{};
};

/// A loaded UNet.
class UNet {
 public:
  virtual ~UNet() = default;
  /// The prediction for latents [1, h, w, in_channels] (scaled for the sampler) at a timestep (0 to 999,
  /// not divided) under each of n conditionings: [n, h, w, out_channels]. Latents may also be n pictures,
  /// one per conditioning. Throws ShapeError if sizes do not match each other or the config.
  virtual HostTensor<f32> predict(HostView<const f32> latents, f32 timestep,
                                  std::span<const Conditioning> conditionings) const = 0;
  HostTensor<f32> predict(HostView<const f32> latents, f32 timestep, const Conditioning& conditioning) const {
    return predict(latents, timestep, std::span(&conditioning, 1));
  }
  /// Advances a state through blocks [first, last), the stages of unet_stages.hpp. The bits do not depend
  /// on how many calls cover the blocks, and equal those of a prediction. Throws ShapeError if the state is
  /// not this model's.
  virtual void run_blocks(families::BlockState& state, std::int64_t first, std::int64_t last) const = 0;
  /// Loads block `index` again from `source`.
  virtual void replace_block(std::int64_t index, const nn::ParameterSource& source) = 0;
};

}  // namespace precast::stable_diffusion
