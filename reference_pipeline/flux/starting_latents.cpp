// What is denoised at first: noise, or a picture's latents with noise.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <families/decode_stage.hpp>
#include <families/fitted_picture.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <image/tensor_image.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/torch_random.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::flux {

using families::seconds_since;

Tensor<f32> FluxPipeline::Parts::initial_latents(const Request& request, const Request& given,
                                                 std::span<const f32> sigmas, int first_step,
                                                 const Reporter& progress, Result& result) const {
  const PackedLayout packed = layout(request);
  const std::int64_t count = pictures(request);
  if (given.latents) return given.latents->clone();
  const Shape drawn{count, packed.channels, packed.height, packed.width};
  const Shape drawn_alone{1, packed.channels, packed.height, packed.width};
  if (!given.image && !request.seed_step)
    return pack(sampling::TorchGenerator(request.seed).randn(drawn), count, packed);
  if (!given.image) {
    Tensor<f32> noise(drawn);
    for (std::int64_t picture = 0; picture < count; ++picture) {
      const Tensor<f32> own = sampling::TorchGenerator(picture_seed(request, picture)).randn(drawn_alone);
      if (!DryRun::active()) std::copy_n(own.data(), own.elements(), noise.data() + picture * own.elements());
    }
    return pack(noise, count, packed);
  }

  // Image to image: the autoencoder's own sample is drawn first, then the noise, from one stream.
  const auto start = std::chrono::steady_clock::now();
  const auto encoder = with_weights("vae", "load VAE encoder", progress, [&](const auto& source) {
    return models_of(backend, choices.vae).encoder(model.vae, source);
  });
  result.load_seconds += seconds_since(start);
  if (progress) progress({"encode image", 0, 1});
  const vae::Moments moments = [&] {
    const image::Image fitted = families::fitted_picture(*given.image, request);
    if (DryRun::active()) {
      const DryHold resized(std::int64_t{3} * *request.width * *request.height);
      return encoder->encode(Tensor<f32>(Shape{1, *request.height, *request.width, 3}),
                             families::tiling_of(request));
    }
    return encoder->encode(image::to_tensor(fitted), families::tiling_of(request));
  }();
  Tensor<f32> sample(drawn_alone), noised(drawn);
  const auto scale = static_cast<f32>(model.vae.scaling_factor),
             shift = static_cast<f32>(model.vae.shift_factor);
  const std::int64_t pixels = packed.height * packed.width;
  const f32 sigma = sigmas[static_cast<std::size_t>(first_step)];
  const auto per_picture = static_cast<std::size_t>(sample.elements());
  const std::int64_t of_one_seed = request.seed_step ? 1 : count;
  for (std::int64_t first = 0; first < count; first += of_one_seed) {
    sampling::TorchGenerator generator(picture_seed(request, first));
    const Tensor<f32> sample_noise = generator.randn(drawn_alone);
    for (std::int64_t channel = 0; channel < packed.channels && !DryRun::active(); ++channel)
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const std::int64_t from = pixel * packed.channels + channel, to = channel * pixels + pixel;
        const f32 log_variance = std::clamp(moments.log_variance.data()[from], -30.0f, 20.0f);
        const f32 value = moments.mean.data()[from] + std::exp(0.5f * log_variance) * sample_noise.data()[to];
        sample.data()[to] = (value - shift) * scale;
      }
    const Tensor<f32> noise =
        generator.randn(Shape{of_one_seed, packed.channels, packed.height, packed.width});
    for (std::int64_t picture = 0; picture < of_one_seed; ++picture) {
      const HostView<const f32> own(noise.data() + picture * sample.elements(), sample.shape());
      const Tensor<f32> mixed = sampling::scale_noise(sample, own, sigma);
      if (DryRun::active()) continue;
      std::copy_n(mixed.data(), per_picture, noised.data() + (first + picture) * sample.elements());
    }
  }
  if (progress) progress({"encode image", 1, 1});
  return pack(noised, count, packed);
}

}  // namespace precast::flux
