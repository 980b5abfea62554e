// The stages of a run: pictures are denoised, refined and decoded.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <families/decode_stage.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <process/memory.hpp>
#include <sampling/sampler_title.hpp>
#include <stable_diffusion/pipeline_parts.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/policy/paths.hpp>

namespace precast::stable_diffusion {

namespace {

/// The size of the picture, no crop, and the size once more; or, for refiners, a score.
std::vector<f32> time_ids(const Model& model, const Request& full,
                          const std::optional<double>& aesthetic_score) {
  const auto height = static_cast<f32>(*full.height), width = static_cast<f32>(*full.width);
  if (model.folder.requires_aesthetics_score)
    return {height, width, 0, 0, static_cast<f32>(*aesthetic_score)};
  return {height, width, 0, 0, height, width};
}

/// The prompt, and what else a UNet is told: the score is one that refiners take.
Conditioning conditioning_of(const Model& model, const Request& full, const Prompt& prompt,
                             const std::optional<double>& aesthetic_score) {
  Conditioning conditioning{prompt.context, std::nullopt, {}, std::nullopt};
  if (model.folder.is_xl()) {
    conditioning.pooled = prompt.pooled;
    conditioning.time_ids = time_ids(model, full, aesthetic_score);
  }
  if (model.folder.embeds_guidance()) conditioning.guidance = static_cast<f32>(*full.guidance - 1);
  return conditioning;
}

/// Where a straight way from `before` through `now`, each at its level of noise, ends without noise: the
/// picture that the latents would be without what is left in them.
HostTensor<f32> without_noise(HostView<const f32> before, sampling::NoiseMix from, HostView<const f32> now,
                              sampling::NoiseMix to) {
  HostTensor<f32> result(now.shape());
  if (DryRun::active()) return result;
  const f32 left = to.from_noise / to.from_clean;
  const f32 had = from.from_clean > 0 ? from.from_noise / from.from_clean : left;
  const f32 part = had == left ? 0.0f : left / (had - left);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const f32 here = now.data()[i] / to.from_clean;
    result.data()[i] = part == 0 ? here : here + part * (here - before.data()[i] / from.from_clean);
  }
  return result;
}

}  // namespace

PolicyChoice StableDiffusionPipeline::Parts::vae_choice(const Model& of, VaeHalf half) const {
  const PolicyChoice asked = choices.vae.normalised();
  if (!of.folder.is_xl() || !of.folder.vae.force_upcast) return asked;
  const PolicyChoice wide =
      PolicyChoice{.precision = precision_of<f32>, .options = asked.options}.normalised();
  const bool overflows = asked.precision == precision_of<f16>;
  return overflows || (half == VaeHalf::encoder && path_compiled(wide)) ? wide : asked;
}

std::unique_ptr<Denoiser> StableDiffusionPipeline::Parts::load_denoiser(const Leg& leg,
                                                                        const Reporter& progress,
                                                                        Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto denoiser = leg.model->with_weights(
      {"unet", leg.model == &model ? "load UNet" : "load refiner"}, progress,
      [&](const nn::ParameterSource& source) {
        return models_of(backend, choices.denoiser).denoiser(leg.model->folder.unet, source);
      });
  result.load_seconds += process::seconds_since(start);
  return denoiser;
}

std::unique_ptr<vae::Decoder> StableDiffusionPipeline::Parts::load_decoder(const Model& of,
                                                                           const Reporter& progress,
                                                                           Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto decoder =
      of.with_weights({"vae", "load VAE decoder"}, progress, [&](const nn::ParameterSource& source) {
        return models_of(backend, vae_choice(of, VaeHalf::decoder)).decoder(of.folder.vae, source);
      });
  result.load_seconds += process::seconds_since(start);
  return decoder;
}

HostTensor<f32> StableDiffusionPipeline::Parts::for_decoder(const Model& of, HostTensor<f32> latents) {
  const LatentScale scale(of.folder.vae, of.folder.is_xl());
  for (std::int64_t i = 0; i < latents.elements() && !DryRun::active(); ++i)
    latents.data()[i] = scale.unscaled(latents.data()[i], i % latents.columns());
  return latents;
}

void StableDiffusionPipeline::Parts::show_preview(const families::PreviewWish& wish,
                                                  const vae::Decoder* decoder, HostTensor<f32> latents,
                                                  const Request& full, families::Preview preview) const {
  if (decoder) {
    const HostTensor<f32> pixels =
        decoder->decode(for_decoder(model, std::move(latents)), families::tiling_of(full));
    if (DryRun::active()) return;
    preview.picture = std::move(image::to_images(pixels).images.front());
  } else {
    if (DryRun::active()) return;
    preview.picture = image::resize(model.folder.preview_map()->picture(latents), *full.width, *full.height);
  }
  wish.show(preview);
}

void StableDiffusionPipeline::Parts::denoise(const Denoiser& denoiser, const Leg& leg,
                                             const vae::Decoder* previews, std::int64_t picture,
                                             const Prepared& prepared, const Request& given,
                                             const Reporter& progress, Result& result,
                                             const families::Recording* recording) const {
  const auto scope = scope_of(leg);
  const auto start = std::chrono::steady_clock::now();
  const Request& full = result.used;
  const LatentSize latents = size(full);
  const std::int64_t count = families::pictures(full), calls = leg.sampler->calls();
  f32* own = result.latents.data() + picture * latents.elements();
  HostTensor<f32> state = channels_last(own, latents);
  const Tensor<f32>& drawn = leg.around ? *leg.around : prepared.noise;
  const HostTensor<f32> noise = channels_last(drawn.data() + picture * latents.elements(), latents);

  DenoiseInput input{*leg.sampler, {}, 1, 0, {}};
  if (guided(*leg.model, full)) {
    input.conditionings.push_back(
        conditioning_of(*leg.model, full, leg.prompts.back(), full.negative_aesthetic_score));
    input.guidance = static_cast<f32>(*full.guidance);
    input.guidance_rescale = static_cast<f32>(full.guidance_rescale.value_or(0));
  }
  const Prompt& prompt = leg.prompts[static_cast<std::size_t>(picture / full.batch)];
  input.conditionings.push_back(conditioning_of(*leg.model, full, prompt, full.aesthetic_score));
  input.noise = [&](std::int64_t call) {
    std::int64_t draw = 0;
    for (std::int64_t before = 0; before < call; ++before) draw += leg.sampler->draws_noise(before);
    return channels_last(leg.noise.data() + draw * leg.noise.columns() + picture * latents.elements(),
                         latents);
  };
  if (given.mask) {
    const Kept& kept = prepared.kept[full.seed_step ? static_cast<std::size_t>(picture) : 0];
    if (leg.model->folder.takes_mask())
      input.beside = kept.beside.view();
    else
      input.around = Surroundings{kept.clean, noise, prepared.mask};
  }
  if (recording)
    input.recording = families::Recording{recording->every, [&](families::RecordedState at) {
                                            at.picture = picture;
                                            recording->take(std::move(at));
                                          }};
  double preview_seconds = 0;
  std::int64_t seen = 0;
  if (given.preview)
    input.look = Look{
        given.preview->every, [&](std::int64_t call, HostView<const f32> before, HostView<const f32> now) {
          const auto shown = std::chrono::steady_clock::now();
          HostTensor<f32> clean =
              without_noise(before, leg.sampler->noise_mix(seen), now, leg.sampler->noise_mix(call));
          seen = call;
          show_preview(*given.preview, previews, std::move(clean), full, {{}, picture, call, calls});
          preview_seconds += process::seconds_since(shown);
        }};
  denoiser.denoise(state, input, [&](std::int64_t call) {
    if (progress) progress({leg.words, picture * calls + call, count * calls});
  });
  channels_first(state, own, latents);
  result.steps += calls;
  if (progress && picture + 1 == count) progress({leg.words, count * calls, count * calls});
  result.denoise_seconds += process::seconds_since(start) - preview_seconds;
}

void StableDiffusionPipeline::Parts::decode(const Model& of, const vae::Decoder& decoder,
                                            std::int64_t picture, const Reporter& progress,
                                            const families::PictureCallback& on_picture,
                                            Result& result) const {
  const auto unscaled = [&] {
    const LatentSize latents = size(result.used);
    return for_decoder(of, channels_last(result.latents.data() + picture * latents.elements(), latents));
  };
  families::decode_picture(decoder, picture, unscaled, progress, on_picture, result);
}

Result StableDiffusionPipeline::Parts::run(Request full, const Request& given, const Model* refiner,
                                           Order order, const Reporter& progress,
                                           const families::PictureCallback& on_picture) const {
  Result result;
  result.used = std::move(full);
  result.sampler = sampling::sampler_title(sampling::sampler_named(*result.used.sampler));
  const Prepared all = prepared(given, refiner, progress, result);
  const std::int64_t count = families::pictures(result.used);
  const Model& last = refiner && !vae_is_given ? *refiner : model;
  const bool previews = given.preview && given.preview->vae;
  std::unique_ptr<vae::Decoder> decoder;
  if (previews) decoder = load_decoder(last, progress, result);
  if (order == Order::one_by_one) {
    const Leg& leg = all.legs.front();
    const auto denoiser = load_denoiser(leg, progress, result);
    const DryHold others((count - 1) * families::picture_bytes(result.used));  // beside the last one
    for (std::int64_t picture = 0; picture < (DryRun::active() ? 2 : count); ++picture) {
      denoise(*denoiser, leg, previews ? decoder.get() : nullptr, picture, all, given, progress, result);
      process::give_back_memory();
      if (!decoder) decoder = load_decoder(last, progress, result);
      decode(last, *decoder, picture, progress, on_picture, result);
      process::give_back_memory();
    }
    return result;
  }
  const std::int64_t seen = DryRun::active() ? 1 : count;
  for (const Leg& leg : all.legs) {
    if (!leg.sampler) continue;
    const auto denoiser = load_denoiser(leg, progress, result);
    for (std::int64_t picture = 0; picture < seen; ++picture)
      denoise(*denoiser, leg, decoder.get(), picture, all, given, progress, result);
  }
  process::give_back_memory();
  if (!decoder) decoder = load_decoder(last, progress, result);
  const DryHold others((count - 1) * families::picture_bytes(result.used));  // beside the last one
  for (std::int64_t picture = 0; picture < seen; ++picture)
    decode(last, *decoder, picture, progress, on_picture, result);
  process::give_back_memory();
  return result;
}

}  // namespace precast::stable_diffusion
