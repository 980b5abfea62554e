// AutoencoderKL's interface for the pipeline: its config, its encoder and its decoder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <tuple>
#include <vector>

#include <precast/backend.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::vae {

/// vae/config.json of a diffusers folder (AutoencoderKL).
struct AutoencoderConfig {
  std::int64_t in_channels = 3;
  std::int64_t out_channels = 3;
  std::int64_t latent_channels = 16;
  std::int64_t layers_per_block = 2;
  std::int64_t norm_num_groups = 32;
  std::vector<std::int64_t> block_out_channels{128, 256, 512, 512};
  bool use_quant_conv = false;
  bool use_post_quant_conv = false;
  bool mid_block_add_attention = true;
  bool force_upcast = false;  ///< f16 overflows, says its author: Stable Diffusion XL's runs in f32 then
  double scaling_factor = 0.3611;
  double shift_factor = 0.1159;
  std::vector<double> latents_mean, latents_std;  ///< per channel, in some XL models; else empty

  /// Pixels per latent along a side: each level but the last halves the resolution.
  std::int64_t factor() const { return std::int64_t{1} << (block_out_channels.size() - 1); }
  /// The values that tensors do not determine and pictures depend on.
  auto not_in_tensors() const {
    return std::tuple(norm_num_groups, force_upcast, scaling_factor, shift_factor, latents_mean, latents_std);
  }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static AutoencoderConfig load(const std::filesystem::path& file);
};

/// The normal distribution of each latent, as the encoder predicts it.
struct Moments {
  HostTensor<f32> mean;          ///< [1, height, width, latent_channels]
  HostTensor<f32> log_variance;  ///< the same shape, not yet clamped
};

/// Limits the memory for large pictures: only a band of rows of activations is in memory, and what the next
/// step needs of the whole picture. Bands overlap by what convolutions read, and norms use the whole
/// picture's statistics, so that results differ from the untiled ones only by rounding.
struct Tiling {
  std::int64_t band_pixels = 0;  ///< at a level's resolution; 0: no bands

  /// Bands of 65,536 pixels: 32 rows of a picture 2,048 wide, for which the overlap adds a tenth to the
  /// computation.
  static constexpr Tiling usual() { return {std::int64_t{1} << 16}; }
};

/// Decodes latents into a picture.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// latents [1, h, w, latent_channels], unscaled -> pixels [1, h * factor, w * factor, out_channels], about
  /// -1 to 1.
  virtual HostTensor<f32> decode(HostView<const f32> latents, const Tiling& tiling) const = 0;
  HostTensor<f32> decode(HostView<const f32> latents) const { return decode(latents, Tiling{}); }
};

/// Encodes a picture into the distribution of its latents.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// pixels [1, H, W, in_channels] in [-1, 1], sides divisible by the factor -> moments.
  virtual Moments encode(HostView<const f32> pixels, const Tiling& tiling) const = 0;
  Moments encode(HostView<const f32> pixels) const { return encode(pixels, Tiling{}); }
};

inline namespace PRECAST_BACKEND {

/// Loads one half of the autoencoder under a policy, without reading the other half.
template <PolicyType P>
std::unique_ptr<Decoder> make_decoder(const AutoencoderConfig& config, const nn::ParameterSource& source);
template <PolicyType P>
std::unique_ptr<Encoder> make_encoder(const AutoencoderConfig& config, const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::vae
