// Latents and pictures in two layouts, [channels, h, w] as drawn by PyTorch and [1, h, w, channels] for
// models; and masks.
#pragma once

#include <cstdint>
#include <vector>

#include <image/image.hpp>
#include <vae/autoencoder.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// The size of one picture's latents.
struct LatentSize {
  std::int64_t channels, height, width;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return channels * pixels(); }
  Shape drawn(std::int64_t pictures) const { return Shape{pictures, channels, height, width}; }
  Shape model() const { return Shape{1, height, width, channels}; }
};

/// Converts one picture from [channels, h, w] to [1, h, w, channels], and back.
HostTensor<f32> channels_last(const f32* drawn, const LatentSize& size);
void channels_first(HostView<const f32> model, f32* drawn, const LatentSize& size);

/// Scales an autoencoder's latents for a UNet, and back: value * scale, or, if an XL model's config has
/// means and standard deviations of the channels, (value - mean) * scale / deviation. No pipeline of the
/// family reads a shift_factor.
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

/// A sample from an encoder's distribution with noise [1, channels, h, w], scaled for the UNet: [1, h, w,
/// channels].
HostTensor<f32> sampled(const vae::Moments& moments, HostView<const f32> noise, const LatentSize& size,
                        const LatentScale& scale);

/// Whether each pixel is to be repainted: where the mask's brightness is at least one
/// half.
std::vector<bool> painted(const image::Image& mask);

/// The same for latents, each of which has the value of its first pixel: [1, h, w, 1] of 0 and 1. Throws
/// InputError if pixels are painted and no latent is.
HostTensor<f32> latent_mask(const std::vector<bool>& painted, const LatentSize& size, std::int64_t factor);

/// Sets pixels [1, H, W, 3] to 0, middle grey, where they are to be repainted.
void remove_painted(HostView<f32> pixels, const std::vector<bool>& painted);

}  // namespace precast::stable_diffusion
