#include <algorithm>
#include <string>

#include <stable_diffusion/latents.hpp>
#include <vae/sample.hpp>

#include <precast/error.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::stable_diffusion {

HostTensor<f32> channels_last(const f32* drawn, const LatentSize& size) {
  HostTensor<f32> model(size.model());
  if (DryRun::active()) return model;
  for (std::int64_t channel = 0; channel < size.channels; ++channel)
    for (std::int64_t pixel = 0; pixel < size.pixels(); ++pixel)
      model.data()[pixel * size.channels + channel] = *drawn++;
  return model;
}

void channels_first(HostView<const f32> model, f32* drawn, const LatentSize& size) {
  if (DryRun::active()) return;
  for (std::int64_t channel = 0; channel < size.channels; ++channel)
    for (std::int64_t pixel = 0; pixel < size.pixels(); ++pixel)
      *drawn++ = model.data()[pixel * size.channels + channel];
}

LatentScale::LatentScale(const vae::AutoencoderConfig& config, bool is_xl)
    : scale_(static_cast<f32>(config.scaling_factor)) {
  if (!is_xl) return;
  means_.assign(config.latents_mean.begin(), config.latents_mean.end());
  deviations_.assign(config.latents_std.begin(), config.latents_std.end());
}

HostTensor<f32> sampled(const vae::Moments& moments, HostView<const f32> noise, const LatentSize& size,
                        const LatentScale& scale) {
  HostTensor<f32> sample = channels_last(noise.data(), size);
  for (std::int64_t i = 0; i < sample.elements() && !DryRun::active(); ++i) {
    const f32 value = vae::sampled_value(moments, i, sample.data()[i]);
    sample.data()[i] = scale.scaled(value, i % size.channels);
  }
  return sample;
}

std::vector<bool> painted(const image::Image& mask) {
  std::vector<bool> result(mask.rgb.size() / image::channels);
  for (std::size_t pixel = 0; pixel < result.size(); ++pixel) {
    const auto level = [&](std::size_t channel) -> std::uint32_t {
      return mask.rgb[pixel * image::channels + channel];
    };
    // ITU-R 601-2 luma in fixed point, as PIL converts to its mode L.
    const std::uint32_t luma = (level(0) * 19595 + level(1) * 38470 + level(2) * 7471 + 0x8000) >> 16;
    result[pixel] = luma >= 128;
  }
  return result;
}

HostTensor<f32> latent_mask(const std::vector<bool>& painted, const LatentSize& size, std::int64_t factor) {
  HostTensor<f32> mask(Shape{1, size.height, size.width, 1});
  if (DryRun::active()) return mask;
  f32* to = mask.data();
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      *to++ = painted[static_cast<std::size_t>((y * size.width * factor + x) * factor)] ? 1.0f : 0.0f;
  const auto pixels = std::ranges::count(painted, true);
  if (pixels > 0 && std::ranges::count(mask.values(), 1.0f) == 0)
    throw InputError("the mask paints " + std::to_string(pixels) + " pixels, and none that counts: of each " +
                     std::to_string(factor) + " x " + std::to_string(factor) +
                     " pixels, which are one latent, the top left one decides; paint a larger area");
  return mask;
}

void remove_painted(HostView<f32> pixels, const std::vector<bool>& painted) {
  for (std::size_t pixel = 0; pixel < painted.size(); ++pixel)
    if (painted[pixel]) std::fill_n(pixels.data() + pixel * image::channels, image::channels, 0.0f);
}

}  // namespace precast::stable_diffusion
