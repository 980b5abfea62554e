// DPM-Solver++ (Lu et al. 2022): multistep in clean pictures, up to third order, for the ODE or the
// SDE.
#include <algorithm>
#include <cmath>

#include <sampling/noise_schedule.hpp>
#include <sampling/sampler_plan.hpp>

namespace precast::sampling {
namespace {

/// The weights of picture and noise in latents of variance 1, and half the log of their squared ratio.
struct Level {
  f32 picture, noise, lambda;
};

Level level_of(f32 sigma) {
  const f32 picture = 1.0f / std::sqrt(sigma * sigma + 1.0f);
  const f32 noise = sigma * picture;
  return {picture, noise, std::log(picture) - std::log(noise)};
}

struct DpmppSchedule {
  std::vector<f32> sigmas;
  std::vector<double> timesteps;
};

DpmppSchedule dpmpp_schedule(const SamplerSettings& settings, const SamplerRun& run) {
  const std::vector<f32> alphas = alphas_cumprod(settings), all = sigmas_of(alphas);
  std::int64_t last = settings.num_train_timesteps;
  if (settings.clips_lambda)
    last = std::ranges::count_if(alphas, [&](f32 alpha) {
      return std::log(std::sqrt(alpha)) - std::log(std::sqrt(1.0f - alpha)) >=
             static_cast<f32>(settings.lambda_min_clipped);
    });
  DpmppSchedule schedule;
  std::vector<double> sigmas;
  if (settings.sigma_spacing != SigmaSpacing::timesteps) {
    sigmas = sigmas_by_formula(settings, all.back(), all.front(), run.steps);
    schedule.timesteps = timesteps_of_sigmas(all, sigmas);
    if (settings.sigma_spacing == SigmaSpacing::karras &&
        settings.beta_schedule != BetaSchedule::squaredcos_cap_v2)
      for (double& timestep : schedule.timesteps) timestep = std::nearbyint(timestep);
  } else {
    schedule.timesteps = spaced_timesteps(settings, run.steps, std::max<std::int64_t>(last, 1));
    sigmas = sigmas_at(all, schedule.timesteps);
  }
  for (double& timestep : schedule.timesteps) timestep = std::trunc(timestep);
  for (const double sigma : sigmas) schedule.sigmas.push_back(static_cast<f32>(sigma));
  schedule.sigmas.push_back(settings.final_sigmas_type == FinalSigma::sigma_min ? all.front() : 0.0f);
  check_sigmas_fall(schedule.sigmas, StepsOfNoLength::refused);
  return schedule;
}

/// Numbers of the tensors that hold the clean pictures of this and earlier calls, and their
/// differences.
class Memory {
 public:
  explicit Memory(std::int64_t order) : order_(static_cast<int>(order)) {}
  int picture(std::size_t call, int before) const {
    return Sampler::own +
           (static_cast<int>(call % static_cast<std::size_t>(order_)) + order_ - before) % order_;
  }
  int difference(int index) const { return Sampler::own + order_ + index; }
  int tensors() const { return order_ + (order_ == 1 ? 0 : order_ == 2 ? 1 : 3); }

 private:
  int order_;
};

/// The first divided difference of two consecutive clean pictures. `ratio` is the length of the step
/// between them over the current step's.
SamplerOperation slope(int out, int newer, int older, f32 ratio) {
  SamplerOperation operation = weighted(out, newer, 1, older, -1);
  operation.how.factor = 1.0f / ratio;
  return operation;
}

/// Adds the operations of call `call` from sigmas[i] to sigmas[i + 1] with the given order.
void add_step(const SamplerSettings& settings, const std::vector<f32>& sigmas, std::size_t i,
              std::size_t call, int order, const Memory& memory, std::vector<SamplerOperation>& operations) {
  const Level to = level_of(sigmas[i + 1]), from = level_of(sigmas[i]);
  const f32 h = to.lambda - from.lambda;
  const bool stochastic = settings.draws_noise;
  // The weight of the new clean picture: over twice the length for the SDE, which draws half of the change.
  const f32 way = stochastic ? 2.0f * h : h;
  const f32 change = std::exp(-way) - 1.0f;
  const int now = memory.picture(call, 0);
  SamplerOperation step =
      weighted(Sampler::latents, Sampler::latents, to.noise / from.noise * (stochastic ? std::exp(-h) : 1.0f),
               now, -(to.picture * change));
  const auto add = [&](int tensor, f32 coefficient) {
    step.how.coefficients[step.in.size()] = coefficient;
    step.in.push_back(tensor);
  };
  if (order > 1) {
    const int first = memory.difference(0);
    const f32 h0 = from.lambda - level_of(sigmas[i - 1]).lambda, r0 = h0 / h;
    operations.push_back(slope(first, now, memory.picture(call, 1), r0));
    if (order == 2) {
      if (settings.solver_type == SolverType::midpoint)
        add(first, -(0.5f * (to.picture * change)));
      else
        add(first, to.picture * (change / way + 1.0f));
    } else {
      const int second = memory.difference(1), mixed = memory.difference(2);
      const f32 h1 = level_of(sigmas[i - 1]).lambda - level_of(sigmas[i - 2]).lambda, r1 = h1 / h;
      operations.push_back(slope(second, memory.picture(call, 1), memory.picture(call, 2), r1));
      operations.push_back(weighted(second, first, 1, second, -1));
      operations.push_back(weighted(mixed, first, 1, second, r0 / (r0 + r1)));
      operations.push_back(copied(second, second));
      operations.back().how.factor = 1.0f / (r0 + r1);
      add(mixed, to.picture * (change / way + 1.0f));
      // For the SDE + 0.5 would be correct; this is diffusers' formula.
      const f32 curve = (change + way) / (way * way);
      add(second, stochastic ? to.picture * (-curve - 0.5f) : -(to.picture * (curve - 0.5f)));
    }
  }
  operations.push_back(std::move(step));
  if (stochastic)
    operations.push_back(
        weighted(Sampler::latents, Sampler::latents, 1, Sampler::noise, to.noise * std::sqrt(-change)));
}

}  // namespace

SamplerPlan plan_dpmpp(const SamplerSettings& settings, const SamplerRun& run) {
  const auto [sigmas, timesteps] = dpmpp_schedule(settings, run);
  const CallRange range = calls_of_run(settings, run, timesteps);
  const std::size_t count = timesteps.size();
  const bool few = settings.lower_order_final && count < 15;
  const Memory memory(settings.solver_order);
  SamplerPlan plan;
  plan.own_tensors = memory.tensors();
  for (std::size_t i = range.first; i < range.end; ++i) {
    const std::size_t number = i - range.first;
    const Level level = level_of(sigmas[i]);
    Sampler::Call call;
    call.timestep = static_cast<f32>(timesteps[i]);
    call.noise_mix = {level.picture, level.noise};
    call.draws_noise = settings.draws_noise;
    call.operations.push_back(clean_picture(settings, memory.picture(number, 0), level.picture, level.noise));
    const bool last_of_first_order =
        i + 1 == count && (settings.euler_at_final || few || settings.final_sigmas_type == FinalSigma::zero);
    int order =
        static_cast<int>(std::min<std::size_t>(number + 1, static_cast<std::size_t>(settings.solver_order)));
    if (i + 2 == count && few) order = std::min(order, 2);
    // A last step of length 0, with which Karras' levels may end, changes nothing.
    if (last_of_first_order || sigmas[i] == sigmas[i + 1]) order = 1;
    add_step(settings, sigmas, i, number, order, memory, call.operations);
    plan.calls.push_back(std::move(call));
  }
  return plan;
}

}  // namespace precast::sampling
