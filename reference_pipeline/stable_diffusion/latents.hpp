// Latents and pictures in their layouts: drawn [channels, h, w], as PyTorch has them, and [1, h, w, channels]
// for models; and masks.
#pragma once

#include <cstdint>
#include <vector>

#include <image/image.hpp>
#include <vae/autoencoder.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// The latents of one picture.
struct LatentSize {
  std::int64_t channels, height, width;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return channels * pixels(); }
  Shape drawn(std::int64_t pictures) const { return Shape{pictures, channels, height, width}; }
  Shape model() const { return Shape{1, height, width, channels}; }
};

/// One picture's [channels, h, w] -> [1, h, w, channels], and back.
HostTensor<f32> channels_last(const f32* drawn, const LatentSize& size);
void channels_first(HostView<const f32> model, f32* drawn, const LatentSize& size);

/// What takes an autoencoder's latents to those of a UNet, and back: value scale, or, where an XL model's
/// config has the channels' means and deviations, (value - mean) scale / deviation. No pipeline of the family
/// reads a shift_factor.
class LatentScale {
 public:
  LatentScale(const vae::AutoencoderConfig& config, bool is_xl);

  f32 scaled(f32 value, std::int64_t channel) const {
    if (means_.empty()) return value * scale_;
    return (value - means_[static_cast<std::size_t>(channel)]) * scale_ /
           deviations_[static_cast<std::size_t>(channel)];
  }
  f32 unscaled(f32 value, std::int64_t channel) const {
    if (means_.empty()) return value / scale_;
    return value * deviations_[static_cast<std::size_t>(channel)] / scale_ +
           means_[static_cast<std::size_t>(channel)];
  }

 private:
  f32 scale_;
  std::vector<f32> means_, deviations_;
};

/// A sample of an encoder's distribution with noise [1, channels, h, w], as the UNet has latents: [1, h, w,
/// channels].
HostTensor<f32> sampled(const vae::Moments& moments, HostView<const f32> noise, const LatentSize& size,
                        const LatentScale& scale);

/// Whether each pixel of a picture of the mask is to be painted anew: where its brightness is one half and
/// more.
std::vector<bool> painted(const image::Image& mask);

/// The same for latents, each of which takes the first of its pixels: [1, h, w, 1] of 0 and 1. Throws
/// InputError where pixels are painted, and no latent is.
HostTensor<f32> latent_mask(const std::vector<bool>& painted, const LatentSize& size, std::int64_t factor);

/// Pixels [1, H, W, 3] with zeros, the middle grey, where they are painted anew.
void remove_painted(HostView<f32> pixels, const std::vector<bool>& painted);

}  // namespace precast::stable_diffusion
