// The inputs of a run: encoded texts and pictures, and all noise, drawn in diffusers' order.
#include <algorithm>
#include <utility>

#include <families/fitted_picture.hpp>
#include <families/request_error.hpp>
#include <image/tensor_image.hpp>
#include <sampling/sampler_title.hpp>
#include <sampling/torch_random.hpp>
#include <stable_diffusion/pipeline_parts.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/problem/sampler_functions.hpp>

namespace precast::stable_diffusion {

namespace {

/// The number of calls whose steps draw noise.
std::int64_t draws_of(const sampling::Sampler& sampler) {
  std::int64_t draws = 0;
  for (std::int64_t call = 0; call < sampler.calls(); ++call) draws += sampler.draws_noise(call);
  return draws;
}

/// The prompts of a request and, with guidance, the negative prompt: "" if none was given, or nullopt for
/// models that use zeros instead.
std::vector<std::optional<std::string>> texts_for(const Model& model, const ResolvedRequest& full,
                                                  bool guided) {
  std::vector<std::optional<std::string>> texts(full.prompts.begin(), full.prompts.end());
  if (!guided) return texts;
  if (full.negative || !model.zeros_for_no_negative())
    texts.emplace_back(full.negative.value_or(""));
  else
    texts.emplace_back(std::nullopt);
  return texts;
}

Tensor<f32> pixels_of(const image::Image& picture, const ResolvedRequest& full) {
  return DryRun::active() ? Tensor<f32>(Shape{1, full.height, full.width, 3}) : image::to_tensor(picture);
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

/// A one-channel mask repeated for all channels.
HostTensor<f32> repeated(HostView<const f32> mask, const LatentSize& size) {
  HostTensor<f32> all(size.model());
  for (std::int64_t i = 0; i < all.elements() && !DryRun::active(); ++i)
    all.data()[i] = mask.data()[i / size.channels];
  return all;
}

/// The corrections that diffusers' pipeline for this model and task makes to the scheduler's config.
sampling::SchedulerCorrection correction_of(const ModelFolder& folder, bool paints) {
  using enum sampling::SchedulerCorrection;
  if (folder.is_xl()) return none;
  if (paints) return of_painting;
  return folder.is_lcm ? none : of_drawing;
}

}  // namespace

sampling::Sampler StableDiffusionPipeline::Parts::sampler_of(const Model& model, const ResolvedRequest& full,
                                                             const Request& given, ModelRole role) {
  sampling::SamplerRun run;
  run.steps = full.steps;
  run.eta = full.eta.value_or(0);
  if (given.image) run.strength = full.strength;
  // diffusers has no inpainting pipeline for these models; Stable Diffusion's is used.
  run.strength_narrows_lcm = model.folder.is_lcm && !given.mask;
  if (full.refiner)
    (role == ModelRole::refiner ? run.denoising_start : run.denoising_end) = full.refiner_start;
  const sampling::SamplerSettings settings = model.folder.scheduler.settings(
      sampler_kind(model, given), correction_of(model.folder, given.mask.has_value()));
  try {
    return sampling::Sampler(settings, run);
  } catch (const InputError& wrong) {
    throw families::RequestError(wrong.what());
  }
}

StartingPicture StableDiffusionPipeline::Run::encoded_picture() {
  StartingPicture starting;
  if (!given_.image) return starting;
  const ModelFolder& folder = parts_.model.folder;
  starting.is_noise = given_.mask && full().strength == 1;
  starting.refiner_inpaints = given_.mask && legs_.size() > 1;
  // From pure noise, a UNet with a mask input does not need the picture's moments.
  const bool needs_moments = !starting.is_noise || !folder.takes_mask() || starting.refiner_inpaints;

  const auto encoder = parts_.model.with_weights(
      {"vae", "load VAE encoder", "vae encoder"}, progress_, result_, [&](const nn::ParameterSource& source) {
        return models_of(parts_.backend, parts_.vae_choice(parts_.model, VaeHalf::encoder))
            .encoder(folder.vae, source);
      });
  if (progress_) progress_({"encode image", 0, 1});
  Tensor<f32> pixels = pixels_of(families::fitted_picture(*given_.image, full()), full());
  if (needs_moments) starting.moments = encoder->encode(pixels, families::tiling_of(full()));
  if (given_.mask) {
    const image::Image resized = families::fitted_picture(*given_.mask, full());
    const std::vector<bool> anew = painted(resized);
    starting.mask = latent_mask(anew, size_, folder.vae.factor());
    mask_ = repeated(starting.mask, size_);
    if (folder.takes_mask()) {
      remove_painted(pixels, anew);
      starting.masked_moments = encoder->encode(pixels, families::tiling_of(full()));
    }
  }
  if (progress_) progress_({"encode image", 1, 1});
  return starting;
}

void StableDiffusionPipeline::Run::draw(const StartingPicture& starting) {
  const std::int64_t of_one_seed = full().seed_step ? 1 : count();
  const ModelFolder& folder = parts_.model.folder;
  noise_ = Tensor<f32>(size_.drawn(count()));
  for (Leg& leg : legs_) leg.noise = Tensor<f32>(Shape{draws_of(leg.sampler), count() * size_.elements()});
  if (starting.refiner_inpaints) legs_.back().inpainting_noise = Tensor<f32>(size_.drawn(count()));
  const LatentScale scale(folder.vae, folder.is_xl());
  for (std::int64_t first = 0; first < count(); first += of_one_seed) {
    sampling::TorchGenerator generator(families::picture_seed(full(), first));
    const auto draw_into = [&](f32* to) {
      const Tensor<f32> drawn = generator.randn(size_.drawn(of_one_seed));
      if (!DryRun::active()) std::ranges::copy(drawn.values(), to + first * size_.elements());
    };
    InpaintingLatents kept;
    if (starting.moments)
      kept.clean = sampled(*starting.moments, generator.randn(size_.drawn(1)), size_, scale);
    if (given_.latents) {
      if (first == 0 && !DryRun::active()) std::ranges::copy(given_.latents->values(), noise_.data());
    } else if (!legs_.empty()) {
      draw_into(noise_.data());
    }
    if (given_.mask) {
      const Tensor<f32> noise = generator.randn(size_.drawn(1));  // drawn even if it is not used
      if (starting.masked_moments) {
        const HostTensor<f32> masked = sampled(*starting.masked_moments, noise, size_, scale);
        kept.extra_channels = side_by_side(starting.mask, masked);
      }
    }
    for (Leg& leg : legs_) {
      if (leg.inpainting_noise) draw_into(leg.inpainting_noise->data());
      for (std::int64_t draw = 0; draw < leg.noise.shape()[0]; ++draw)
        draw_into(leg.noise.data() + draw * leg.noise.columns());
    }
    if (given_.image) inpainting_latents_.push_back(std::move(kept));
  }
}

Tensor<f32> StableDiffusionPipeline::Run::first_latents(const StartingPicture& starting) const {
  Tensor<f32> all(size_.drawn(count()));
  for (std::int64_t picture = 0; picture < count() && !DryRun::active(); ++picture) {
    f32* const to = all.data() + picture * size_.elements();
    const HostTensor<f32>* clean = starting.is_noise ? nullptr : &inpainting_latents(picture).clean;
    if (legs_.empty()) {  // no step, and no noise drawn
      channels_first(*clean, to, size_);
      continue;
    }
    const sampling::Sampler& sampler = legs_.front().sampler;
    HostTensor<f32> start = channels_last(noise_.data() + picture * size_.elements(), size_);
    const sampling::NoiseMix mix =
        starting.is_noise ? sampling::NoiseMix{0, sampler.initial_noise_scale()} : sampler.noise_mix(0);
    const elementwise::Combination combined{.coefficients = {mix.from_clean, mix.from_noise, 1, 1}};
    for (std::int64_t i = 0; i < start.elements(); ++i)
      start.data()[i] =
          clean ? combined(clean->data()[i], start.data()[i]) : mix.from_noise * start.data()[i];
    channels_first(start, to, size_);
  }
  return all;
}

StableDiffusionPipeline::Run::Run(const Parts& parts, const ResolvedRequest& full, const Request& given,
                                  const Model* refiner, const Reporter& progress,
                                  const families::Recording* recording)
    : families::Run(full, given, progress, recording),
      parts_(parts),
      last_(refiner && !parts.vae_is_given ? *refiner : parts.model),
      size_(parts.size(full)) {
  result_.sampler = sampling::sampler_title(Parts::sampler_kind(parts.model, given));
  const bool keeps_picture = families::keeps_picture(full, given);
  for (const Model* each : {&parts.model, refiner}) {
    if (!each || keeps_picture) continue;
    const ModelRole role = each == refiner ? ModelRole::refiner : ModelRole::base;
    legs_.push_back(
        {each, each == refiner ? "refine" : "denoise", Parts::sampler_of(*each, full, given, role)});
  }
  for (Leg& leg : legs_) {
    const auto scope = scope_of(leg);
    leg.prompts =
        leg.model->encoded(texts_for(*leg.model, full, Parts::guided(*leg.model, full)), full.clip_skip,
                           parts.backend, parts.choices.text_encoder, progress_, result_);
  }
  process::give_back_memory();
  const StartingPicture starting = encoded_picture();
  draw(starting);
  result_.latents = first_latents(starting);
}

}  // namespace precast::stable_diffusion
