// DDIM (Song et al. 2021) and latent consistency models (Luo et al. 2023): a step estimates the clean
// picture from the prediction and noises it to a lower level.
#include <algorithm>
#include <cmath>
#include <string>

#include <sampling/noise_schedule.hpp>
#include <sampling/sampler_plan.hpp>

#include <precast/error.hpp>

namespace precast::sampling {
namespace {

constexpr int clean_place = Sampler::own, direction_place = Sampler::own + 1;

void refuse_all_noise(const SamplerSettings& settings, double timestep, f32 alpha_prod) {
  if (alpha_prod == 0 && settings.prediction_type == PredictionType::epsilon)
    throw InputError(
        "timestep " + std::to_string(static_cast<std::int64_t>(timestep)) +
        " is all noise (rescale_betas_zero_snr), of which a prediction_type of epsilon leaves no "
        "picture: set one of them right, or choose the sampler euler");
}

/// Adds the operations that turn a prediction into noise; returns the tensor with the noise.
int noise_direction(const SamplerSettings& settings, f32 picture_part, f32 noise_part,
                    std::vector<SamplerOperation>& operations) {
  if (settings.prediction_type == PredictionType::epsilon) return Sampler::prediction;
  if (settings.prediction_type == PredictionType::v_prediction) {
    operations.push_back(
        weighted(direction_place, Sampler::prediction, picture_part, Sampler::latents, noise_part));
  } else {
    operations.push_back(weighted(direction_place, Sampler::latents, 1, Sampler::prediction, -picture_part));
    operations.back().how.divisor = noise_part;
  }
  return direction_place;
}

}  // namespace

SamplerPlan plan_ddim(const SamplerSettings& settings, const SamplerRun& run) {
  const AlphasCumprod alphas(settings);
  const auto timesteps = spaced_timesteps(settings, run.steps, settings.num_train_timesteps);
  const auto stride = static_cast<double>(settings.num_train_timesteps / run.steps);
  const auto eta = static_cast<f32>(run.eta);
  const CallRange range = calls_of_run(settings, run, timesteps);
  SamplerPlan plan;
  plan.own_tensors = 2;
  for (std::size_t i = range.first; i < range.end; ++i) {
    Sampler::Call call;
    call.timestep = static_cast<f32>(timesteps[i]);
    call.noise_mix = alphas.noise_mix(timesteps[i]);
    const f32 alpha_prod = alphas.at(timesteps[i]), next = alphas.before(timesteps[i] - stride);
    refuse_all_noise(settings, timesteps[i], alpha_prod);
    const f32 picture_part = std::sqrt(alpha_prod), noise_part = std::sqrt(1.0f - alpha_prod);
    const f32 variance = (1.0f - next) / (1.0f - alpha_prod) * (1.0f - alpha_prod / next);
    const f32 deviation = eta * std::sqrt(variance);
    const f32 square = deviation * deviation;
    // If all noise is redrawn, rounding may make the square of the direction's factor negative.
    const f32 rest = std::sqrt(std::max(1.0f - next - square, 0.0f));

    call.operations.push_back(clean_picture(settings, clean_place, picture_part, noise_part));
    const int along = noise_direction(settings, picture_part, noise_part, call.operations);
    call.operations.push_back(weighted(Sampler::latents, clean_place, std::sqrt(next), along, rest));
    call.draws_noise = run.eta > 0;
    if (call.draws_noise) {
      call.operations.back().in.push_back(Sampler::noise);
      call.operations.back().how.coefficients[2] = deviation;
    }
    plan.calls.push_back(std::move(call));
  }
  return plan;
}

SamplerPlan plan_lcm(const SamplerSettings& settings, const SamplerRun& run) {
  const AlphasCumprod alphas(settings);
  const auto timesteps = lcm_timesteps(settings, run.steps, run.strength_narrows_lcm ? run.strength : 1);
  const CallRange range = calls_of_run(settings, run, timesteps);
  SamplerPlan plan;
  plan.own_tensors = 1;
  for (std::size_t i = range.first; i < range.end; ++i) {
    Sampler::Call call;
    call.timestep = static_cast<f32>(timesteps[i]);
    call.noise_mix = alphas.noise_mix(timesteps[i]);
    const f32 alpha_prod = alphas.at(timesteps[i]);
    refuse_all_noise(settings, timesteps[i], alpha_prod);
    call.operations.push_back(
        clean_picture(settings, clean_place, std::sqrt(alpha_prod), std::sqrt(1.0f - alpha_prod)));

    // A consistency model's output blends its input with the clean picture: at timestep 0 all input.
    const f32 scaled = call.timestep * static_cast<f32>(settings.timestep_scaling);
    const f32 square = scaled * scaled + 0.25f;
    const f32 from_latents = 0.25f / square, from_clean = scaled / std::sqrt(square);
    call.draws_noise = i + 1 < timesteps.size();
    const int denoised = call.draws_noise ? clean_place : Sampler::latents;
    call.operations.push_back(weighted(denoised, clean_place, from_clean, Sampler::latents, from_latents));
    if (call.draws_noise) {
      const NoiseMix next = alphas.noise_mix(timesteps[i + 1]);
      call.operations.push_back(
          weighted(Sampler::latents, clean_place, next.from_clean, Sampler::noise, next.from_noise));
    }
    plan.calls.push_back(std::move(call));
  }
  return plan;
}

}  // namespace precast::sampling
