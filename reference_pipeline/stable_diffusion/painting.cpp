// The stages of a run: denoising, refining and decoding.
#include <algorithm>
#include <memory>
#include <utility>

#include <families/changed_weights.hpp>
#include <stable_diffusion/pipeline_parts.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/policy/paths.hpp>

namespace precast::stable_diffusion {

namespace {

/// The picture's size, a zero crop, and the size again; or, for refiners, a score instead of the latter.
std::vector<f32> time_ids(const Model& model, const ResolvedRequest& full,
                          const std::optional<double>& aesthetic_score) {
  const auto height = static_cast<f32>(full.height), width = static_cast<f32>(full.width);
  if (model.folder.requires_aesthetics_score && aesthetic_score)
    return {height, width, 0, 0, static_cast<f32>(*aesthetic_score)};
  return {height, width, 0, 0, height, width};
}

/// All conditioning of a UNet: prompt, time ids, guidance; `aesthetic_score` is for refiners.
Conditioning conditioning_of(const Model& model, const ResolvedRequest& full, const Prompt& prompt,
                             const std::optional<double>& aesthetic_score) {
  Conditioning conditioning{prompt.context, std::nullopt, {}, std::nullopt};
  if (model.folder.is_xl()) {
    conditioning.pooled = prompt.pooled;
    conditioning.time_ids = time_ids(model, full, aesthetic_score);
  }
  if (model.folder.embeds_guidance()) conditioning.guidance = static_cast<f32>(full.guidance.value_or(1) - 1);
  return conditioning;
}

/// Extrapolates linearly from `before` through `now`, each at its noise level, to noise 0: an estimate of
/// the clean latents.
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

families::LoadedDenoiser StableDiffusionPipeline::Run::load_denoiser(std::int64_t number) {
  const Leg& leg = legs_[static_cast<std::size_t>(number)];
  const bool is_base = leg.model == &parts_.model;
  const auto load = [&](const nn::ParameterSource& weights) {
    return models_of(parts_.backend, parts_.choices.denoiser).denoiser(leg.model->folder.unet, weights);
  };
  const std::shared_ptr<const Denoiser> denoiser = leg.model->with_weights(
      {"unet", is_base ? "load UNet" : "load refiner"}, progress_, result_,
      [&](const nn::ParameterSource& source) {
        return is_base && given_.change_weights ? families::load_changed(given_.change_weights, source, load)
                                                : load(source);
      });
  return {leg.words, leg.sampler.calls(),
          [this, denoiser, &leg](std::int64_t picture, const vae::Decoder* previews,
                                 const BeforeCall& before_call) {
            denoise(*denoiser, leg, picture, previews, before_call);
          }};
}

std::unique_ptr<vae::Decoder> StableDiffusionPipeline::Run::load_decoder() {
  return last_.with_weights({"vae", "load VAE decoder"}, progress_, result_,
                            [&](const nn::ParameterSource& source) {
                              return models_of(parts_.backend, parts_.vae_choice(last_, VaeHalf::decoder))
                                  .decoder(last_.folder.vae, source);
                            });
}

HostTensor<f32> StableDiffusionPipeline::Run::latents_of(std::int64_t picture) {
  return channels_last(drawn_latents(picture), size_);
}

HostTensor<f32> StableDiffusionPipeline::Run::unscaled(HostTensor<f32> latents) const {
  const LatentScale scale(last_.folder.vae, last_.folder.is_xl());
  for (std::int64_t i = 0; i < latents.elements() && !DryRun::active(); ++i)
    latents.data()[i] = scale.unscaled(latents.data()[i], i % latents.columns());
  return latents;
}

void StableDiffusionPipeline::Run::denoise(const Denoiser& denoiser, const Leg& leg, std::int64_t picture,
                                           const vae::Decoder* previews, const BeforeCall& before_call) {
  const auto scope = scope_of(leg);
  const Model& model = *leg.model;
  HostTensor<f32> state = latents_of(picture);
  const Tensor<f32>& drawn = leg.inpainting_noise ? *leg.inpainting_noise : noise_;
  const HostTensor<f32> noise = channels_last(drawn.data() + picture * size_.elements(), size_);

  DenoiseInput input{leg.sampler, {}, 1, 0, {}};
  if (Parts::guided(model, full())) {
    input.conditionings.push_back(
        conditioning_of(model, full(), leg.prompts.back(), full().negative_aesthetic_score));
    input.guidance = static_cast<f32>(full().guidance.value_or(1));
    input.guidance_rescale = static_cast<f32>(full().guidance_rescale.value_or(0));
  }
  const Prompt& prompt = leg.prompts[static_cast<std::size_t>(picture / full().batch)];
  input.conditionings.push_back(conditioning_of(model, full(), prompt, full().aesthetic_score));
  input.noise = [&](std::int64_t call) {
    std::int64_t draw = 0;
    for (std::int64_t before = 0; before < call; ++before) draw += leg.sampler.draws_noise(before);
    return channels_last(leg.noise.data() + draw * leg.noise.columns() + picture * size_.elements(), size_);
  };
  if (given_.mask) {
    const InpaintingLatents& kept = inpainting_latents(picture);
    if (model.folder.takes_mask())
      input.extra_channels = kept.extra_channels.view();
    else
      input.inpainting = InpaintingInputs{kept.clean, noise, mask_};
  }
  input.recording = recording_of(picture);
  input.latents_callback = preview_callback(
      previews, picture, leg.sampler.calls(),
      [&](std::int64_t previous, HostView<const f32> before, std::int64_t call, HostView<const f32> now) {
        return without_noise(before, leg.sampler.noise_mix(previous), now, leg.sampler.noise_mix(call));
      });
  denoiser.denoise(state, input, before_call);
  channels_first(state, drawn_latents(picture), size_);
}

}  // namespace precast::stable_diffusion
