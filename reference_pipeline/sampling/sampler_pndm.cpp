// PNDM (Liu et al. 2022): a linear multistep method in predictions (PLMS). Starts with its first step run
// twice or, without skip_prk_steps, with three Runge-Kutta steps of four calls each.
#include <cmath>
#include <string>

#include <sampling/noise_schedule.hpp>
#include <sampling/sampler_plan.hpp>

#include <precast/error.hpp>

namespace precast::sampling {
namespace {

constexpr int remembered = 4;  ///< predictions
constexpr int held = Sampler::own + remembered, combined = held + 1, runge_kutta = combined + 1;
constexpr std::size_t runge_kutta_calls = 12;

/// The timesteps of all calls; the first `runge_kutta` belong to Runge-Kutta steps.
struct PndmTimesteps {
  std::vector<double> all;
  std::size_t runge_kutta = 0;
};

PndmTimesteps timesteps_of(const SamplerSettings& settings, const SamplerRun& run) {
  const auto spaced = spaced_timesteps(settings, run.steps, settings.num_train_timesteps);
  PndmTimesteps timesteps{spaced, 0};
  if (settings.skip_prk_steps) {
    if (spaced.size() > 1) timesteps.all.insert(timesteps.all.begin() + 1, spaced[1]);
    return timesteps;
  }
  if (spaced.size() < 4)
    throw InputError("pndm with skip_prk_steps false begins with the first 4 of at least 4 steps, not of " +
                     std::to_string(run.steps) + ": take more, or set skip_prk_steps to true");
  timesteps.all.clear();
  const auto half = static_cast<double>(settings.num_train_timesteps / run.steps / 2);
  for (std::size_t i = 0; i < 3; ++i)
    timesteps.all.insert(timesteps.all.end(),
                         {spaced[i], spaced[i + 1] + half, spaced[i + 1] + half, spaced[i + 1]});
  timesteps.runge_kutta = runge_kutta_calls;
  timesteps.all.insert(timesteps.all.end(), spaced.begin() + 3, spaced.end());
  return timesteps;
}

/// Builds the operations of consecutive calls.
class PndmSteps {
 public:
  PndmSteps(const SamplerSettings& settings, const SamplerRun& run, PndmTimesteps timesteps)
      : settings_(settings),
        alphas_(settings),
        timesteps_(std::move(timesteps)),
        stride_(static_cast<double>(settings.num_train_timesteps / run.steps)),
        half_stride_(static_cast<double>(settings.num_train_timesteps / run.steps / 2)) {}

  Sampler::Call next(double timestep) {
    Sampler::Call call;
    call.timestep = static_cast<f32>(timestep);
    call.noise_mix = alphas_.noise_mix(timestep);
    if (count_ < timesteps_.runge_kutta)
      add_runge_kutta(timestep, call.operations);
    else
      add_multistep(timestep, call.operations);
    ++count_;
    return call;
  }

 private:
  void add_runge_kutta(double timestep, std::vector<SamplerOperation>& operations) {
    const std::size_t part = count_ % 4;
    const double to = timestep - (count_ % 2 ? 0 : half_stride_);
    const double from = timesteps_.all[count_ / 4 * 4];
    const f32 weight = static_cast<f32>(part == 0 || part == 3 ? 1.0 / 6 : 1.0 / 3);
    if (part == 0) {
      remember(operations);
      operations.push_back(copied(held, Sampler::latents));
      operations.push_back(copied(runge_kutta, Sampler::prediction));
      operations.back().how.factor = weight;
      add_step(from, to, Sampler::prediction, held, operations);
    } else {
      operations.push_back(weighted(runge_kutta, runge_kutta, 1, Sampler::prediction, weight));
      add_step(from, to, part == 3 ? runge_kutta : Sampler::prediction, held, operations);
    }
  }

  void add_multistep(double timestep, std::vector<SamplerOperation>& operations) {
    if (count_ == 1) {  // repeats the first step with the mean of both predictions
      operations.push_back(weighted(combined, Sampler::prediction, 1, recent(0), 1));
      operations.back().how.divisor = 2;
      return add_step(timestep + stride_, timestep, combined, held, operations);
    }
    remember(operations);
    if (count_ == 0) operations.push_back(copied(held, Sampler::latents));
    SamplerOperation sum{combined, {recent(0)}, {}};
    const std::size_t known = std::min<std::size_t>(stored_, remembered);
    for (std::size_t i = 1; i < known; ++i) sum.in.push_back(recent(i));
    if (known == 2)
      sum.how = {.coefficients = {3, -1, 1, 1}, .divisor = 2};
    else if (known == 3)
      sum.how = {.coefficients = {23, -16, 5, 1}, .divisor = 12};
    else if (known == 4)
      sum.how = {.coefficients = {55, -59, 37, -9}, .factor = static_cast<f32>(1.0 / 24)};
    operations.push_back(std::move(sum));
    add_step(timestep, timestep - stride_, combined, Sampler::latents, operations);
  }

  /// The latents at `to` from a sample at `from` and its prediction: equation 9 of the paper.
  void add_step(double from, double to, int prediction, int sample,
                std::vector<SamplerOperation>& operations) const {
    const f32 alpha_prod = alphas_.at(from), next = alphas_.before(to);
    const f32 lost = 1.0f - alpha_prod;
    if (settings_.prediction_type == PredictionType::v_prediction) {
      operations.push_back(weighted(combined, prediction, std::sqrt(alpha_prod), sample, std::sqrt(lost)));
      prediction = combined;
    }
    const f32 mixed = alpha_prod * std::sqrt(1.0f - next);
    // Both terms are negated, which is exact: only the first operand can be divided by itself.
    operations.push_back(
        weighted(Sampler::latents, prediction, next - alpha_prod, sample, -std::sqrt(next / alpha_prod)));
    operations.back().how.first_divisor = mixed + std::sqrt(alpha_prod * lost * next);
    operations.back().how.divisor = -1;
  }

  void remember(std::vector<SamplerOperation>& operations) {
    operations.push_back(copied(Sampler::own + static_cast<int>(stored_ % remembered), Sampler::prediction));
    ++stored_;
  }
  /// The tensor with the most recent prediction, or the one `before` calls earlier.
  int recent(std::size_t before) const {
    return Sampler::own + static_cast<int>((stored_ - 1 - before) % remembered);
  }

  const SamplerSettings& settings_;
  AlphasCumprod alphas_;
  PndmTimesteps timesteps_;
  double stride_, half_stride_;
  std::size_t count_ = 0, stored_ = 0;
};

}  // namespace

SamplerPlan plan_pndm(const SamplerSettings& settings, const SamplerRun& run) {
  PndmTimesteps timesteps = timesteps_of(settings, run);
  const std::vector<double> all = timesteps.all;
  const CallRange range = calls_of_run(settings, run, all);
  PndmSteps steps(settings, run, std::move(timesteps));
  SamplerPlan plan;
  plan.own_tensors = remembered + (settings.skip_prk_steps ? 2 : 3);
  for (std::size_t i = range.first; i < range.end; ++i) plan.calls.push_back(steps.next(all[i]));
  return plan;
}

}  // namespace precast::sampling
