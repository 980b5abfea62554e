// Euler's method over sigmas (Karras et al. 2022), and its ancestral form, which replaces part of the noise
// in each step.
#include <algorithm>
#include <cmath>

#include <sampling/noise_schedule.hpp>
#include <sampling/sampler_plan.hpp>

namespace precast::sampling {
namespace {

constexpr int working_place = Sampler::own;  ///< holds the clean picture, then the derivative

/// The sigmas of all steps and the final one, and their timesteps.
struct EulerSchedule {
  std::vector<f32> sigmas;
  std::vector<double> timesteps;
};

EulerSchedule euler_schedule(const SamplerSettings& settings, const SamplerRun& run) {
  const std::vector<f32> all = sigmas_of(alphas_cumprod(settings));
  EulerSchedule schedule;
  schedule.timesteps = spaced_timesteps(settings, run.steps, settings.num_train_timesteps);
  std::vector<double> sigmas = sigmas_at(all, schedule.timesteps);
  if (settings.sigma_spacing != SigmaSpacing::timesteps) {
    sigmas = sigmas_by_formula(settings, sigmas.front(), sigmas.back(), run.steps);
    schedule.timesteps = timesteps_of_sigmas(all, sigmas);
  }
  for (const double sigma : sigmas) schedule.sigmas.push_back(static_cast<f32>(sigma));
  schedule.sigmas.push_back(settings.final_sigmas_type == FinalSigma::sigma_min ? all.front() : 0.0f);
  check_sigmas_fall(schedule.sigmas, StepsOfNoLength::allowed);
  return schedule;
}

/// Computes the clean picture into the working tensor, for latents of the form picture + sigma * noise.
SamplerOperation clean_of_sigma(PredictionType type, f32 sigma) {
  SamplerOperation operation{working_place, {Sampler::latents, Sampler::prediction}, {}};
  auto& how = operation.how;
  if (type == PredictionType::sample) {
    operation.in = {Sampler::prediction};
  } else if (type == PredictionType::epsilon) {
    how.coefficients[1] = -sigma;
  } else {
    const f32 square = sigma * sigma + 1.0f;
    how.first_divisor = square;
    how.coefficients[1] = -sigma / std::sqrt(square);
  }
  return operation;
}

}  // namespace

SamplerPlan plan_euler(const SamplerSettings& settings, const SamplerRun& run) {
  const auto [sigmas, timesteps] = euler_schedule(settings, run);
  const f32 most = *std::ranges::max_element(sigmas);
  const CallRange range = calls_of_run(settings, run, timesteps);
  SamplerPlan plan;
  plan.own_tensors = 1;
  plan.initial_noise_scale =
      settings.timestep_spacing == TimestepSpacing::leading ? std::sqrt(most * most + 1.0f) : most;
  for (std::size_t i = range.first; i < range.end; ++i) {
    const f32 sigma = sigmas[i], next = sigmas[i + 1];
    Sampler::Call call;
    call.timestep = settings.continuous_timesteps ? 0.25f * std::log(sigma) : static_cast<f32>(timesteps[i]);
    call.input_divisor = std::sqrt(sigma * sigma + 1.0f);
    call.noise_mix = {1, sigma};
    call.operations.push_back(clean_of_sigma(settings.prediction_type, sigma));
    call.operations.push_back(weighted(working_place, Sampler::latents, 1, working_place, -1));
    call.operations.back().how.divisor = sigma;
    if (settings.kind == SamplerKind::euler) {
      call.operations.push_back(weighted(Sampler::latents, Sampler::latents, 1, working_place, next - sigma));
    } else {
      const f32 square = sigma * sigma, next_square = next * next;
      const f32 anew = std::sqrt(next_square * (square - next_square) / square);
      const f32 down = std::sqrt(next_square - anew * anew);
      call.operations.push_back(weighted(Sampler::latents, Sampler::latents, 1, working_place, down - sigma));
      call.operations.back().in.push_back(Sampler::noise);
      call.operations.back().how.coefficients[2] = anew;
      call.draws_noise = true;
    }
    plan.calls.push_back(std::move(call));
  }
  return plan;
}

}  // namespace precast::sampling
