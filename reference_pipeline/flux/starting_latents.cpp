// What is denoised at first: noise, or a picture's latents with noise.
#include <algorithm>
#include <chrono>

#include <families/decode_stage.hpp>
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

/// Of the request's pictures, or of one.
Shape drawn_shape(std::int64_t pictures, const PackedLayout& packed) {
  return Shape{pictures, packed.channels, packed.height, packed.width};
}

/// Noise as it is drawn: from one stream, or with a seed step from that of each picture.
Tensor<f32> drawn_noise(const Request& request, std::int64_t pictures, const PackedLayout& packed) {
  if (!request.seed_step) return sampling::TorchGenerator(request.seed).randn(drawn_shape(pictures, packed));
  Tensor<f32> noise(drawn_shape(pictures, packed));
  for (std::int64_t picture = 0; picture < pictures; ++picture) {
    const Tensor<f32> own =
        sampling::TorchGenerator(families::picture_seed(request, picture)).randn(drawn_shape(1, packed));
    if (!DryRun::active()) std::copy_n(own.data(), own.elements(), noise.data() + picture * own.elements());
  }
  return noise;
}

/// A picture's latents as noise is drawn, [1, channels, h, w], shifted and scaled for the transformer.
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

vae::Moments FluxPipeline::Parts::encoded_picture(const Request& request, const image::Image& picture,
                                                  const Reporter& progress, Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  const auto encoder = with_weights(
      {"vae", "load VAE encoder", "vae encoder"}, progress,
      [&](const auto& source) { return models_of(backend, choices.vae).encoder(model.vae, source); });
  result.load_seconds += process::seconds_since(start);
  if (progress) progress({"encode image", 0, 1});
  const image::Image fitted = families::fitted_picture(picture, request);
  if (!DryRun::active()) return encoder->encode(image::to_tensor(fitted), families::tiling_of(request));
  const DryHold resized(std::int64_t{3} * *request.width * *request.height);
  return encoder->encode(Tensor<f32>(Shape{1, *request.height, *request.width, 3}),
                         families::tiling_of(request));
}

Tensor<f32> FluxPipeline::Parts::initial_latents(const Request& request, const Request& given,
                                                 std::span<const f32> sigmas, int first_step,
                                                 const Reporter& progress, Result& result) const {
  const PackedLayout packed = layout(request);
  const std::int64_t count = pictures(request);
  if (given.latents) return given.latents->clone();
  if (!given.image) return pack(drawn_noise(request, count, packed), count, packed);

  const vae::Moments moments = encoded_picture(request, *given.image, progress, result);
  Tensor<f32> sample(drawn_shape(1, packed)), noised(drawn_shape(count, packed));
  const f32 sigma = sigmas[static_cast<std::size_t>(first_step)];
  const std::int64_t of_one_seed = request.seed_step ? 1 : count;
  for (std::int64_t first = 0; first < count; first += of_one_seed) {
    // The autoencoder's own sample is drawn first, then the noise, from one stream.
    sampling::TorchGenerator generator(families::picture_seed(request, first));
    sample_into(sample, moments, generator.randn(drawn_shape(1, packed)), model.vae, packed);
    const Tensor<f32> noise = generator.randn(drawn_shape(of_one_seed, packed));
    for (std::int64_t picture = 0; picture < of_one_seed; ++picture) {
      const HostView<const f32> own(noise.data() + picture * sample.elements(), sample.shape());
      const Tensor<f32> mixed = sampling::scale_noise(sample, own, sigma);
      if (DryRun::active()) continue;
      std::copy_n(mixed.data(), mixed.elements(), noised.data() + (first + picture) * sample.elements());
    }
  }
  if (progress) progress({"encode image", 1, 1});
  return pack(noised, count, packed);
}

}  // namespace precast::flux
