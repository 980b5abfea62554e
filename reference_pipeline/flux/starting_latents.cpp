// The latents that denoising begins with: noise, or a picture's latents with noise.
#include <algorithm>

#include <families/fitted_picture.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <image/tensor_image.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/torch_random.hpp>
#include <vae/sample.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::flux {

namespace {

/// The shape of drawn noise for `pictures` pictures.
Shape drawn_shape(std::int64_t pictures, const PackedLayout& packed) {
  return Shape{pictures, packed.channels, packed.height, packed.width};
}

/// Noise as it is drawn: from one generator, or, with a seed step, from one for each picture.
Tensor<f32> drawn_noise(const ResolvedRequest& request, std::int64_t pictures, const PackedLayout& packed) {
  if (!request.seed_step) return sampling::TorchGenerator(request.seed).randn(drawn_shape(pictures, packed));
  Tensor<f32> noise(drawn_shape(pictures, packed));
  for (std::int64_t picture = 0; picture < pictures; ++picture) {
    const Tensor<f32> own =
        sampling::TorchGenerator(families::picture_seed(request, picture)).randn(drawn_shape(1, packed));
    if (!DryRun::active()) std::copy_n(own.data(), own.elements(), noise.data() + picture * own.elements());
  }
  return noise;
}

/// Samples a picture's latents as [1, channels, h, w], shifted and scaled for the transformer.
void sample_into(Tensor<f32>& sample, const vae::Moments& moments, const Tensor<f32>& normal,
                 const vae::AutoencoderConfig& config, const PackedLayout& packed) {
  const auto scale = static_cast<f32>(config.scaling_factor), shift = static_cast<f32>(config.shift_factor);
  const std::int64_t pixels = packed.height * packed.width;
  for (std::int64_t channel = 0; channel < packed.channels && !DryRun::active(); ++channel)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t from = pixel * packed.channels + channel, to = channel * pixels + pixel;
      sample.data()[to] = (vae::sampled_value(moments, from, normal.data()[to]) - shift) * scale;
    }
}

}  // namespace

vae::Moments FluxPipeline::Run::encoded_picture() {
  const vae::AutoencoderConfig& config = parts_.model.vae;
  const auto encoder = with_weights({"vae", "load VAE encoder", "vae encoder"}, [&](const auto& source) {
    return models_of(parts_.backend, parts_.choices.vae).encoder(config, source);
  });
  if (progress_) progress_({"encode image", 0, 1});
  const image::Image fitted = families::fitted_picture(*given_.image, full());
  const vae::Tiling tiling = families::tiling_of(full());
  if (!DryRun::active()) return encoder->encode(image::to_tensor(fitted), tiling);
  const DryHold resized(families::picture_bytes(full()));
  return encoder->encode(Tensor<f32>(Shape{1, full().height, full().width, 3}), tiling);
}

Tensor<f32> FluxPipeline::Run::initial_latents() {
  if (given_.latents) return given_.latents->clone();
  if (!given_.image) return pack(drawn_noise(full(), count(), layout_), count(), layout_);

  const vae::Moments moments = encoded_picture();
  Tensor<f32> sample(drawn_shape(1, layout_)), noised(drawn_shape(count(), layout_));
  const std::int64_t of_one_seed = full().seed_step ? 1 : count();
  for (std::int64_t first = 0; first < count(); first += of_one_seed) {
    // The autoencoder's own sample is drawn first, then the noise, from one stream.
    sampling::TorchGenerator generator(families::picture_seed(full(), first));
    sample_into(sample, moments, generator.randn(drawn_shape(1, layout_)), parts_.model.vae, layout_);
    const Tensor<f32> noise = generator.randn(drawn_shape(of_one_seed, layout_));
    for (std::int64_t picture = 0; picture < of_one_seed; ++picture) {
      const HostView<const f32> own(noise.data() + picture * sample.elements(), sample.shape());
      const Tensor<f32> mixed = sampling::scale_noise(sample, own, levels_.front());
      if (DryRun::active()) continue;
      std::copy_n(mixed.data(), mixed.elements(), noised.data() + (first + picture) * sample.elements());
    }
  }
  if (progress_) progress_({"encode image", 1, 1});
  return pack(noised, count(), layout_);
}

}  // namespace precast::flux
