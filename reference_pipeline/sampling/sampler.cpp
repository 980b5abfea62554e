#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <sampling/noise_schedule.hpp>
#include <sampling/sampler.hpp>
#include <sampling/sampler_plan.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/number_text.hpp>

namespace precast::sampling {
namespace {

using io::shortest;

void check(const SamplerSettings& settings, const SamplerRun& run) {
  if (run.steps < 1 || run.steps > settings.num_train_timesteps)
    throw InputError("the number of steps is " + std::to_string(run.steps) + ": give 1 to " +
                     std::to_string(settings.num_train_timesteps));
  if (!(run.eta >= 0 && run.eta <= 1))
    throw InputError("eta " + shortest(run.eta) + " is not between 0 (no noise) and 1");
  if (run.eta > 0 && settings.kind != SamplerKind::ddim)
    throw InputError("eta " + shortest(run.eta) + " is ddim's, and the sampler is " +
                     std::string(sampler_name(settings.kind)) + ": leave it out, or choose ddim");
  if (!(run.strength >= 0 && run.strength <= 1))
    throw InputError("strength " + shortest(run.strength) + " is not between 0 (keep the picture) and 1");
  const double start = run.denoising_start.value_or(0), end = run.denoising_end.value_or(1);
  if (!(start >= 0 && end <= 1 && start < end))
    throw InputError("a run from " + shortest(start) + " to " + shortest(end) +
                     " of the noise is empty: begin at 0 or later, end later than that and at 1 at most");
}

SamplerPlan plan(const SamplerSettings& settings, const SamplerRun& run) {
  check(settings, run);
  switch (settings.kind) {
    case SamplerKind::ddim:
      return plan_ddim(settings, run);
    case SamplerKind::pndm:
      return plan_pndm(settings, run);
    case SamplerKind::lcm:
      return plan_lcm(settings, run);
    case SamplerKind::euler:
    case SamplerKind::euler_a:
      return plan_euler(settings, run);
    case SamplerKind::dpmpp_2m:
    case SamplerKind::dpmpp_2m_karras:
    case SamplerKind::dpmpp_2m_sde:
    case SamplerKind::dpmpp_2m_sde_karras:
      break;
  }
  return plan_dpmpp(settings, run);
}

/// Throws InputError if a factor or divisor of latents is not finite.
void check_finite(const SamplerPlan& plan) {
  const auto is_finite = [](f32 value) { return std::isfinite(value); };
  const auto are_finite = [&](const SamplerOperation& operation) {
    const elementwise::Combination& how = operation.how;
    return std::ranges::all_of(how.coefficients, is_finite) && is_finite(how.first_divisor) &&
           is_finite(how.factor) && is_finite(how.divisor);
  };
  for (const Sampler::Call& call : plan.calls)
    if (!is_finite(plan.initial_noise_scale) || !is_finite(call.input_divisor) ||
        !std::ranges::all_of(call.operations, are_finite))
      throw InputError("the scheduler's settings give coefficients at timestep " + shortest(call.timestep) +
                       " that are beyond f32: check beta_start, beta_end and trained_betas");
}

}  // namespace

Sampler::Sampler(const SamplerSettings& settings, const SamplerRun& run) {
  SamplerPlan made = plan(settings, run);
  check_finite(made);
  calls_ = std::move(made.calls);
  initial_noise_scale_ = made.initial_noise_scale;
  own_tensors_ = made.own_tensors;
}

NoiseMix Sampler::noise_mix(std::int64_t call) const {
  return call == calls() ? NoiseMix{} : calls_[at(call)].noise_mix;
}

std::size_t Sampler::at(std::int64_t call) const {
  if (call < 0 || call >= calls())
    throw InputError("a sampler of " + std::to_string(calls()) + " calls has no call " +
                     std::to_string(call));
  return static_cast<std::size_t>(call);
}

CallRange calls_of_run(const SamplerSettings& settings, const SamplerRun& run,
                       const std::vector<double>& timesteps) {
  const auto train = static_cast<double>(settings.num_train_timesteps);
  const auto count_below = [&](double part) {
    const double border = std::nearbyint(train - part * train);
    return static_cast<std::size_t>(
        std::ranges::count_if(timesteps, [border](double timestep) { return timestep < border; }));
  };
  CallRange range{0, timesteps.size()};
  if (run.denoising_start) {
    range.first = timesteps.size() - count_below(*run.denoising_start);
  } else {
    const auto steps = static_cast<double>(run.steps);
    const bool already_narrowed = settings.kind == SamplerKind::lcm && run.strength_narrows_lcm;
    const std::int64_t kept =
        already_narrowed ? run.steps : static_cast<std::int64_t>(std::min(steps * run.strength, steps));
    if (kept == 0)
      throw InputError("strength " + shortest(run.strength) + " of " + io::counted(run.steps, "step") +
                       " leaves none: raise one of them");
    range.first = static_cast<std::size_t>(run.steps - kept);
  }
  if (run.denoising_end && *run.denoising_end > 0 && *run.denoising_end < 1)
    range.end = timesteps.size() - count_below(*run.denoising_end);
  if (range.first >= range.end) {
    const bool all = run.strength == 1;  // of a picture that is drawn from noise too
    if (!run.denoising_start && !run.denoising_end)
      throw InputError("strength " + shortest(run.strength) + " of " + io::counted(run.steps, "step") +
                       " leaves none, as the scheduler's config has " +
                       io::counted(std::ssize(timesteps), "timestep") + " for them: raise one of them");
    throw InputError(
        run.denoising_start
            ? "of " + io::counted(run.steps, "step") + " none lies behind " + shortest(*run.denoising_start) +
                  " of the noise, where a refiner starts: take more steps, or start it earlier"
            : "of " + io::counted(run.steps, "step") + (all ? "" : " at strength " + shortest(run.strength)) +
                  " none lies before " + shortest(run.denoising_end.value_or(1)) +
                  " of the noise, where a refiner starts: take more steps" +
                  (all ? "" : " or a larger strength") + ", or start it later");
  }
  return range;
}

AlphasCumprod::AlphasCumprod(const SamplerSettings& settings)
    : alphas_(alphas_cumprod(settings)), final_(settings.set_alpha_to_one ? 1.0f : alphas_.front()) {}

f32 AlphasCumprod::at(double timestep) const {
  if (!(timestep >= 0 && timestep < static_cast<double>(alphas_.size())))
    throw InputError("the scheduler's settings lead to timestep " +
                     std::to_string(static_cast<std::int64_t>(timestep)) + ", and training had " +
                     std::to_string(alphas_.size()) + ": take fewer steps");
  return alphas_[static_cast<std::size_t>(timestep)];
}

NoiseMix AlphasCumprod::noise_mix(double timestep) const {
  const f32 alpha_prod = at(timestep);
  return {std::sqrt(alpha_prod), std::sqrt(1.0f - alpha_prod)};
}

SamplerOperation clean_picture(const SamplerSettings& settings, int out, f32 picture_part, f32 noise_part) {
  SamplerOperation operation{out, {Sampler::latents, Sampler::prediction}, {}};
  auto& how = operation.how;
  switch (settings.prediction_type) {
    case PredictionType::epsilon:
      how.coefficients[1] = -noise_part;
      how.divisor = picture_part;
      break;
    case PredictionType::v_prediction:
      how.coefficients[0] = picture_part;
      how.coefficients[1] = -noise_part;
      break;
    case PredictionType::sample:
      operation.in = {Sampler::prediction};
      break;
  }
  if (settings.clip_sample) {
    how.high = static_cast<f32>(settings.clip_sample_range);
    how.low = -how.high;
  }
  return operation;
}

void check_sigmas_fall(const std::vector<f32>& sigmas, StepsOfNoLength no_length) {
  for (std::size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const bool may_stay = i + 2 == sigmas.size() || no_length == StepsOfNoLength::allowed;
    if (!std::isfinite(sigmas[i]) || !(may_stay ? sigmas[i] >= sigmas[i + 1] : sigmas[i] > sigmas[i + 1]))
      throw InputError("the scheduler's settings give noise levels that do not fall over " +
                       std::to_string(sigmas.size() - 1) +
                       " steps: take fewer steps, or check sigma_min, sigma_max and the betas");
  }
}

}  // namespace precast::sampling
