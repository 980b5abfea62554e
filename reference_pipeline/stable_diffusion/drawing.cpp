// What a run begins with: texts encoded, pictures encoded, and everything drawn, in diffusers' order.
#include <algorithm>
#include <chrono>
#include <utility>

#include <families/decode_stage.hpp>
#include <families/fitted_picture.hpp>
#include <families/request_error.hpp>
#include <image/tensor_image.hpp>
#include <sampling/torch_random.hpp>
#include <stable_diffusion/pipeline_parts.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/problem/sampler_functions.hpp>

namespace precast::stable_diffusion {

namespace {

/// Calls of a run whose steps draw noise.
std::int64_t draws_of(const sampling::Sampler& sampler) {
  std::int64_t draws = 0;
  for (std::int64_t call = 0; call < sampler.calls(); ++call) draws += sampler.draws_noise(call);
  return draws;
}

/// The prompts of a request, then the negative one where it is guided: "", where none was given, or none,
/// which is zeros.
std::vector<std::optional<std::string>> texts_for(const Model& model, const Request& full, bool guided) {
  std::vector<std::optional<std::string>> texts(full.prompts.begin(), full.prompts.end());
  if (!guided) return texts;
  if (full.negative || !model.zeros_for_no_negative())
    texts.emplace_back(full.negative.value_or(""));
  else
    texts.emplace_back(std::nullopt);
  return texts;
}

Tensor<f32> pixels_of(const image::Image& picture, const Request& full) {
  return DryRun::active() ? Tensor<f32>(Shape{1, *full.height, *full.width, 3}) : image::to_tensor(picture);
}

/// [1, h, w, 1 + channels]: the mask, then the latents of the masked picture.
HostTensor<f32> side_by_side(HostView<const f32> mask, HostView<const f32> masked) {
  const std::int64_t columns = 1 + masked.columns();
  HostTensor<f32> both(Shape{1, masked.shape()[1], masked.shape()[2], columns});
  for (std::int64_t row = 0; row < masked.rows() && !DryRun::active(); ++row) {
    both.data()[row * columns] = mask.data()[row];
    std::ranges::copy(masked.row(row), both.data() + row * columns + 1);
  }
  return both;
}

/// A mask of one channel for each of several.
HostTensor<f32> repeated(HostView<const f32> mask, const LatentSize& size) {
  HostTensor<f32> all(size.model());
  for (std::int64_t i = 0; i < all.elements() && !DryRun::active(); ++i)
    all.data()[i] = mask.data()[i / size.channels];
  return all;
}

/// What diffusers' pipeline for this model and task corrects of its scheduler's config.
sampling::SchedulerCorrection correction_of(const ModelFolder& folder, bool paints) {
  using enum sampling::SchedulerCorrection;
  if (folder.is_xl()) return none;
  if (paints) return of_painting;
  return folder.is_lcm ? none : of_drawing;
}

}  // namespace

std::optional<sampling::Sampler> StableDiffusionPipeline::Parts::sampler_of(const Model& model,
                                                                            const Request& full,
                                                                            const Request& given,
                                                                            ModelRole role) {
  if (given.image && full.strength == 0) return std::nullopt;
  sampling::SamplerRun run;
  run.steps = *full.steps;
  run.eta = full.eta.value_or(0);
  if (given.image) run.strength = full.strength;
  // Of these models diffusers has no pipeline that paints: those of Stable Diffusion do.
  run.strength_narrows_lcm = model.folder.is_lcm && !given.mask;
  if (full.refiner)
    (role == ModelRole::refiner ? run.denoising_start : run.denoising_end) = *full.refiner_start;
  const sampling::SamplerKind kind =
      given.sampler ? sampling::sampler_named(*given.sampler) : model.folder.scheduler.default_kind();
  const sampling::SamplerSettings settings =
      model.folder.scheduler.settings(kind, correction_of(model.folder, given.mask.has_value()));
  try {
    return sampling::Sampler(settings, run);
  } catch (const InputError& wrong) {
    throw families::RequestError(wrong.what());
  }
}

StartingPicture StableDiffusionPipeline::Parts::encoded_picture(const Request& given,
                                                                const Reporter& progress, Prepared& prepared,
                                                                Result& result) const {
  StartingPicture starting;
  if (!given.image) return starting;
  const Request& full = result.used;
  const ModelFolder& folder = model.folder;
  starting.is_noise = given.mask && full.strength == 1;
  starting.kept_by_refiner = given.mask && prepared.legs.size() > 1 && prepared.legs.front().sampler;
  // Where all begins as noise, a UNet that takes the mask needs nothing else of the picture.
  const bool needs_moments = !starting.is_noise || !folder.takes_mask() || starting.kept_by_refiner;

  const auto start = std::chrono::steady_clock::now();
  const auto encoder = model.with_weights(
      {"vae", "load VAE encoder", "vae encoder"}, progress, [&](const nn::ParameterSource& source) {
        return models_of(backend, vae_choice(model, VaeHalf::encoder)).encoder(folder.vae, source);
      });
  result.load_seconds += process::seconds_since(start);
  if (progress) progress({"encode image", 0, 1});
  Tensor<f32> pixels = pixels_of(families::fitted_picture(*given.image, full), full);
  if (needs_moments) starting.moments = encoder->encode(pixels, families::tiling_of(full));
  if (given.mask) {
    const image::Image resized = families::fitted_picture(*given.mask, full);
    const std::vector<bool> anew = painted(resized);
    starting.mask = latent_mask(anew, size(full), folder.vae.factor());
    prepared.mask = repeated(starting.mask, size(full));
    if (folder.takes_mask()) {
      remove_painted(pixels, anew);
      starting.masked_moments = encoder->encode(pixels, families::tiling_of(full));
    }
  }
  if (progress) progress({"encode image", 1, 1});
  return starting;
}

void StableDiffusionPipeline::Parts::draw(const Request& given, const Request& full,
                                          const StartingPicture& starting, Prepared& prepared) const {
  const LatentSize latents = size(full);
  const std::int64_t count = families::pictures(full), of_one_seed = full.seed_step ? 1 : count;
  prepared.noise = Tensor<f32>(latents.drawn(count));
  for (Leg& leg : prepared.legs)
    if (leg.sampler) leg.noise = Tensor<f32>(Shape{draws_of(*leg.sampler), count * latents.elements()});
  if (starting.kept_by_refiner) prepared.legs.back().around = Tensor<f32>(latents.drawn(count));
  const LatentScale scale(model.folder.vae, model.folder.is_xl());
  for (std::int64_t first = 0; first < count; first += of_one_seed) {
    sampling::TorchGenerator generator(families::picture_seed(full, first));
    const auto draw_into = [&](f32* to) {
      const Tensor<f32> drawn = generator.randn(latents.drawn(of_one_seed));
      if (!DryRun::active()) std::ranges::copy(drawn.values(), to + first * latents.elements());
    };
    Kept kept;
    if (starting.moments)
      kept.clean = sampled(*starting.moments, generator.randn(latents.drawn(1)), latents, scale);
    if (given.latents) {
      if (first == 0 && !DryRun::active()) std::ranges::copy(given.latents->values(), prepared.noise.data());
    } else if (prepared.legs.front().sampler) {
      draw_into(prepared.noise.data());
    }
    if (given.mask) {
      const Tensor<f32> noise = generator.randn(latents.drawn(1));  // also where nothing is made of it
      if (starting.masked_moments) {
        const HostTensor<f32> masked = sampled(*starting.masked_moments, noise, latents, scale);
        kept.beside = side_by_side(starting.mask, masked);
      }
    }
    for (Leg& leg : prepared.legs) {
      if (leg.around) draw_into(leg.around->data());
      for (std::int64_t draw = 0; leg.sampler && draw < leg.noise.shape()[0]; ++draw)
        draw_into(leg.noise.data() + draw * leg.noise.columns());
    }
    if (given.image) prepared.kept.push_back(std::move(kept));
  }
}

Tensor<f32> StableDiffusionPipeline::Parts::first_latents(const Request& full,
                                                          const StartingPicture& starting,
                                                          const Prepared& prepared) const {
  const LatentSize latents = size(full);
  const auto& sampler = prepared.legs.front().sampler;
  const std::int64_t count = families::pictures(full);
  Tensor<f32> all(latents.drawn(count));
  for (std::int64_t picture = 0; picture < count && !DryRun::active(); ++picture) {
    f32* const to = all.data() + picture * latents.elements();
    const HostTensor<f32>* clean =
        starting.is_noise ? nullptr
                          : &prepared.kept[full.seed_step ? static_cast<std::size_t>(picture) : 0].clean;
    if (!sampler) {  // no step, so no noise was drawn
      channels_first(*clean, to, latents);
      continue;
    }
    HostTensor<f32> start = channels_last(prepared.noise.data() + picture * latents.elements(), latents);
    const sampling::NoiseMix mix =
        starting.is_noise ? sampling::NoiseMix{0, sampler->initial_noise_scale()} : sampler->noise_mix(0);
    const elementwise::Combination combined{.coefficients = {mix.from_clean, mix.from_noise, 1, 1}};
    for (std::int64_t i = 0; i < start.elements(); ++i)
      start.data()[i] =
          clean ? combined(clean->data()[i], start.data()[i]) : mix.from_noise * start.data()[i];
    channels_first(start, to, latents);
  }
  return all;
}

Prepared StableDiffusionPipeline::Parts::prepared(const Request& given, const Model* refiner,
                                                  const Reporter& progress, Result& result) const {
  const Request& full = result.used;
  Prepared prepared;
  prepared.legs.push_back({&model, "denoise", sampler_of(model, full, given, ModelRole::base)});
  if (refiner)
    prepared.legs.push_back({refiner, "refine", sampler_of(*refiner, full, given, ModelRole::refiner)});
  for (Leg& leg : prepared.legs) {
    if (!leg.sampler) continue;
    const auto scope = scope_of(leg);
    leg.prompts = leg.model->encoded(texts_for(*leg.model, full, guided(*leg.model, full)), full.clip_skip,
                                     backend, choices.text_encoder, progress, result);
  }
  process::give_back_memory();
  const StartingPicture starting = encoded_picture(given, progress, prepared, result);
  draw(given, full, starting, prepared);
  result.latents = first_latents(full, starting, prepared);
  return prepared;
}

}  // namespace precast::stable_diffusion
